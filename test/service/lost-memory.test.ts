import { fileURLToPath } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { Processes, type Program } from './processes.ts';

const PROVIDER = fileURLToPath(new URL('./forgetful-provider.mjs', import.meta.url));
const PATIENCE = { timeout: 60_000, interval: 50 };

const processes = new Processes();
afterEach(() => processes.end());

/** What it was asked for: `full` or `since`, in order. */
const listsOf = ({ output }: Program) => output.filter((line) => line === 'full' || line === 'since');

it('S1: lists everything after a lost connection, so that a provider that lost its memory is seen as it is', async () => {
  const first = processes.script(PROVIDER, '127.0.0.1:0', 'a', 'b');
  const address = (await first.firstLine).slice('listening on '.length);
  const shard = await processes.shard(
    address,
    ...['--incremental-reconcile', '--full-list-every', '0', '--relist-after-loss', '1h'],
    ...['--cycle-interval', '200ms'],
  );
  const ids = async () => {
    const { machines } = (await (await fetch(`${shard.http}api/v1/machines`)).json()) as {
      machines: { id: string }[];
    };
    return machines.map(({ id }) => id).sort();
  };
  const replace = async (old: Program, ...its: string[]) => {
    old.child.kill('SIGKILL');
    await old.exited;
    const next = processes.script(PROVIDER, address, ...its);
    await next.firstLine;
    return next;
  };

  await vi.waitFor(() => expect(listsOf(first).slice(0, 3)).toEqual(['full', 'since', 'since']), PATIENCE);
  expect(await ids()).toEqual(['a', 'b']);

  const second = await replace(first, 'b', 'c');
  await vi.waitFor(async () => expect(await ids()).toEqual(['b', 'c']), PATIENCE);
  await vi.waitFor(() => expect(listsOf(second).length).toBeGreaterThan(2), PATIENCE);
  expect(listsOf(second).filter((kind) => kind === 'full')).toHaveLength(1);

  // At most once in --relist-after-loss: the third process is asked for changes only.
  const third = await replace(second, 'c', 'd');
  await vi.waitFor(() => expect(listsOf(third).length).toBeGreaterThan(2), PATIENCE);
  expect(new Set(listsOf(third))).toEqual(new Set(['since']));
}, 240_000);
