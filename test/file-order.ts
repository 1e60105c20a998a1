/**
 * The order of the test files. Long ones come first, so that no core is idle at the end. Files that mostly wait, for processes or
 * deadlines, take turns with those that mostly calculate: a third worker uses the cores while others wait.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const WAITING = [
  'simulation/chaos/chaos',
  'dashboard/pages',
  'service/tenants-connections',
  'service/tenants-limits',
  'session/admission',
  'service/tenants-demand',
  'service/controls',
  'service/drain',
  'provider/pool/failures',
  'service/history',
];

const CALCULATING = [
  'decision/histories-1',
  'decision/histories-2',
  'service/service',
  'decision/histories-3',
  'decision/histories-4',
  'identity/processes',
  'cli/inspect',
  'package/package',
  'service/tenants-supply',
  'simulation/operators/end-to-end',
  'service/long-assignments',
  'bench/command-line',
  'bench/engine-scenarios',
  'decision/stability',
  'simulation/virtual-time/campaign',
];

/** They alternate. So of three files that run at a time at least one waits, and the faults of `chaos` find a core. */
const LONG = [
  ...WAITING.flatMap((name, index) => [name, ...CALCULATING.slice(index, index + 1)]),
  ...CALCULATING.slice(WAITING.length),
].map((name) => fileURLToPath(new URL(`./${name}.test.ts`, import.meta.url)));

export default class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    for (const path of LONG) {
      if (!existsSync(path)) throw new Error(`test/file-order.ts names ${path}, which does not exist`);
    }
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONG.indexOf(moduleId);
      return index < 0 ? LONG.length : index;
    };
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}
