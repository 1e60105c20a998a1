/** What an order is about, in words. */
import type { Inventory } from '../../inventory/inventory.ts';
import { STATE_COUNT } from '../../machine/state.ts';
import { states } from '../view/explain/words.ts';

/** `4 Idle and 12 Configured`; `none`. */
export function statesOf({ columns }: Inventory, slots: readonly number[]): string {
  const counts = new Array<number>(STATE_COUNT).fill(0);
  for (const slot of slots) counts[columns.state[slot]!]!++;
  return states(counts) || 'none';
}
