/**
 * `reclaim-cap-fraction` as people mean it. For the reference 0 lifts the cap, and a person who types 0 to stop reclaims gets the
 * opposite. So there are words for both, and 0 keeps its meaning.
 */
import { InvalidValueError } from './setting.ts';

export type CapFraction = number | 'unlimited' | 'none';

export function readCapFraction(text: string): CapFraction {
  if (text === 'unlimited' || text === 'none') return text;
  if (!/^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text))
    throw new InvalidValueError(
      `${JSON.stringify(text)} is not a fraction`,
      'Write it like 0.05, 0.5 or 1, or write unlimited or none',
    );
  if (Number(text) > 1) throw new InvalidValueError(`${text} is above the maximum, 1`, 'Choose 0 to 1');
  return Number(text);
}
