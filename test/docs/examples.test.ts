/** The example operator gets machines of the example provider from a real shard. */
import { afterEach, describe, expect, it } from 'vitest';
import { runMinimalOperator } from '../../docs/examples/minimal-operator.ts';
import { serveMinimalProvider } from '../../docs/examples/minimal-provider.ts';
import { Processes, until } from '../service/processes.ts';

let processes = new Processes();
const closers: (() => void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) close();
  await processes.end();
  processes = new Processes();
});

describe('docs/examples', () => {
  it('provider, shard and operator together: three machines become nodes, and two of them are reclaimed', async () => {
    const provider = await serveMinimalProvider('127.0.0.1:0', 20);
    closers.push(() => void provider.close());
    const shard = await processes.shard(provider.address, '--cycle-interval', '500ms');
    const run = (cores: number) => {
      const lines: string[] = [];
      const print = (line: string) => lines.push(line);
      const end = runMinimalOperator({
        shard: shard.address,
        clusterId: 'blue',
        cores,
        coresEach: 16,
        print,
      });
      closers.push(end);
      return { lines, end };
    };
    const ended = (lines: readonly string[], state: string) => lines.filter((line) => line.endsWith(state));

    const first = run(48);
    await until(
      'three nodes',
      () => ended(first.lines, ' CONFIGURED'),
      ({ length }) => length === 3,
    );
    expect(first.lines[0]).toMatch(/^connected to epoch 1 /);
    first.end();

    const second = run(16);
    await until(
      'two are reclaimed',
      () => ended(second.lines, ' IDLE'),
      ({ length }) => length === 2,
    );
    expect(second.lines.filter((line) => line.startsWith('drain '))).toHaveLength(2);
  });
});
