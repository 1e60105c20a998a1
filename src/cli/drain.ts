/** `flotilla drain`: machines leave their clusters, once others have replaced them (H5). */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'drain',
  help: `Usage: flotilla drain MACHINE... --why TEXT [options]
       flotilla drain PLACE --why TEXT [options]

Drains machines. Their needs get others first, without preempting anything; then the shard drains the machines,
under the cap on reclaims. They stay cordoned: no need gets them, and they are not released, until flotilla
uncordon. A gang's replacement comes from its own domain. If there is no replacement, the command says so, and the
machine stays until there is one.
`,
  flags: '  --now                  drain at once: do not wait for replacements\n',
  options: { now: { type: 'boolean' } },
  examples: `  flotilla drain m-4711 --why "disk errors, ticket 4711"
  flotilla drain --zone eu-north-1a --yes --why "power work on Sunday"
`,
  orderOf: (flags) => (flags.has('now') ? 'drain-now' : 'drain'),
  verb: 'Drain',
  isStanding: true,
});
