/** Loaded before a program: changes one text in one of its modules, as FLOTILLA_MUTANT says. The files stay as they are. */
import { register } from 'node:module';

register('./mutate-hooks.mjs', import.meta.url, { data: JSON.parse(process.env.FLOTILLA_MUTANT) });
