/** Preload that applies the mutant of FLOTILLA_MUTANT to one module in memory. No file changes. */
import { register } from 'node:module';

register('./mutate-hooks.mjs', import.meta.url, { data: JSON.parse(process.env.FLOTILLA_MUTANT) });
