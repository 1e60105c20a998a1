/** `flotilla uncordon`: lifts what flotilla cordon and flotilla drain set. */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'uncordon',
  help: `Usage: flotilla uncordon MACHINE... --why TEXT [options]
       flotilla uncordon PLACE --why TEXT [options]

Lifts the cordons and drains of exactly these machines, or of exactly this place. A machine that drains already goes
on draining; once it is Idle, needs may use it again.
`,
  examples: `  flotilla uncordon m-4711 --why "the disk was replaced"
  flotilla uncordon --zone eu-north-1a --yes --why "the power is back"
`,
  orderOf: () => 'uncordon',
  verb: 'Uncordon',
});
