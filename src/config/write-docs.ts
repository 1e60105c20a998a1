/** Writes docs/configuration.md from the declared settings. `npm run docs` runs it in the root of the repository. */
import { writeFileSync } from 'node:fs';
import { configurationPage } from './texts.ts';

writeFileSync('docs/configuration.md', configurationPage());
