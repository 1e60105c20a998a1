/** The whole style sheet: the body of /assets/style.css. */
import { COLOURS } from './colours.ts';
import { FRAME } from './frame.ts';
import { PARTS } from './parts.ts';

export const STYLE = [COLOURS, FRAME, PARTS].join('\n');
