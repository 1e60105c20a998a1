/** `flotilla release`: gives Idle machines back to their providers (R3). */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'release',
  help: `Usage: flotilla release MACHINE... --why TEXT [options]
       flotilla release PLACE --why TEXT [options]

Deletes Idle machines at their providers in the next cycle: also cordoned ones, those whose hold is not over, and
those that the shard never releases by itself. Others in that place stay as they are; drain them first. A restart
forgets releases that have not begun.
`,
  examples: `  flotilla release m-4711 --why "drained, goes to repair"
  flotilla release --zone eu-north-1a --yes --why "we leave the zone"
`,
  orderOf: () => 'release',
  verb: 'Release',
});
