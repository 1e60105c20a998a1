/** `flotilla retry`: ends back-offs and reads machines again (X12). */
import { orderCommand } from './admin/orders.ts';

export const run = orderCommand({
  name: 'retry',
  help: `Usage: flotilla retry MACHINE... --why TEXT [options]
       flotilla retry PLACE --why TEXT [options]

Ends the back-offs of machines that failed, and of their offerings, and reads the machines again at their providers.
A Failed machine stays Failed until its provider says otherwise: repair it there first.
`,
  examples: `  flotilla retry m-4711 --why "the provider fixed its quota"
  flotilla retry --provider rack-a --yes --why "rack-a is up again"
`,
  orderOf: () => 'retry',
  verb: 'Retry',
});
