/** `flotilla cordon`: machines serve what they serve, and nothing else (H6). */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'cordon',
  help: `Usage: flotilla cordon MACHINE... --why TEXT [options]
       flotilla cordon PLACE --why TEXT [options]

Cordons machines: each keeps serving the need that it is assigned to. No other need gets it, no need preempts it,
and the shard never releases it. The shard reclaims it when that need no longer wants it. A cordon of a place is
also about machines that appear there.
`,
  examples: `  flotilla cordon m-4711 --why "looking at it"
  flotilla cordon --zone eu-north-1a --for 4h --yes --why "the zone is flapping"
`,
  orderOf: () => 'cordon',
  verb: 'Cordon',
  isStanding: true,
});
