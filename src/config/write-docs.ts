/** Writes docs/configuration.md from the declarations: `npm run docs`, from the root of the repository. */
import { writeFileSync } from 'node:fs';
import { configurationPage } from './texts.ts';

writeFileSync('docs/configuration.md', configurationPage());
