/** `flotilla retire-cluster`: a cluster is gone for good (H8). */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'retire-cluster',
  help: `Usage: flotilla retire-cluster CLUSTER --why TEXT [options]

Tells the shard that a cluster is gone for good. Its demand goes at once; the shard reclaims its machines under the
cap on reclaims, and then forgets the cluster. Its operator must not be connected. If it connects later, the cluster
is not gone: what is left of the order ends. flotilla resume ID ends it too, but demand that went comes back only
from an operator.
`,
  examples: `  flotilla retire-cluster staging-7 --why "staging-7 was deleted, ticket 4711"
`,
  orderOf: () => 'retire-cluster',
  verb: 'Retire',
  isOfCluster: true,
});
