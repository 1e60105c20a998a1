/** All of the style, as one text: what /assets/style.css answers. */
import { COLOURS } from './colours.ts';
import { FRAME } from './frame.ts';
import { PARTS } from './parts.ts';

export const STYLE = [COLOURS, FRAME, PARTS].join('\n');
