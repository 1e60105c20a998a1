/** The example operator gets machines of the example provider from a real shard. */
import { afterEach, describe, expect, it } from 'vitest';
import { minimalOperator } from '../../docs/examples/minimal-operator.ts';
import { serveMinimalProvider } from '../../docs/examples/minimal-provider.ts';
import { Processes, until } from '../service/processes.ts';

let processes = new Processes();
const closers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await processes.end();
  processes = new Processes();
});

describe('docs/examples', () => {
  it('provider, shard and operator together: three machines become nodes, and two of them are reclaimed', async () => {
    const provider = await serveMinimalProvider('127.0.0.1:0', 20);
    closers.push(() => void provider.close());
    const shard = await processes.shard(provider.address, '--cycle-interval', '500ms');
    const run = async (machines: number) => {
      const lines: string[] = [];
      const operator = minimalOperator(shard.address, 'blue', machines, (line) => lines.push(line));
      closers.push(() => operator.close());
      await operator.start();
      return { lines, operator };
    };
    const ended = (lines: readonly string[], state: string) => lines.filter((line) => line.endsWith(state));

    const first = await run(3);
    await until(
      'three nodes',
      () => ended(first.lines, ' Configured'),
      ({ length }) => length === 3,
    );
    expect(first.lines[0]).toMatch(/^connected to epoch 1 /);
    await first.operator.close();

    const second = await run(1);
    await until(
      'two are reclaimed',
      () => ended(second.lines, ' Idle'),
      ({ length }) => length === 2,
    );
    expect(second.lines.filter((line) => line.startsWith('drain '))).toHaveLength(2);
    expect(second.operator.nodes.size).toBe(1);
  });
});
