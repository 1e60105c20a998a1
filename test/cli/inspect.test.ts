/** The commands that query a shard, as processes, against the HTTP API of a simulated fleet. */
import { execFile, spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTERS } from '../../src/cli/clusters.ts';
import { flagsIn } from '../../src/cli/completion.ts';
import { GANGS } from '../../src/cli/gangs.ts';
import { runCommand } from '../../src/cli/inspect/command.ts';
import type { Output } from '../../src/cli/inspect/terminal.ts';
import { MACHINES } from '../../src/cli/machines.ts';
import { NEEDS } from '../../src/cli/needs.ts';
import { OFFERINGS } from '../../src/cli/offerings.ts';
import { PROVIDERS } from '../../src/cli/providers.ts';
import { SHARDS } from '../../src/cli/shards.ts';
import { spark } from '../../src/cli/top.ts';
import type { ApiGangs } from '../../src/dashboard/api/gang-types.ts';
import type {
  ApiClusters,
  ApiMachines,
  ApiNeedExplanations,
  ApiNeeds,
  ApiOfferings,
  ApiOverview,
  ApiTenants,
} from '../../src/dashboard/api/types.ts';
import { tenantLimits } from '../../src/shard/tenants.ts';
import { DISCONNECTED, LiveWorld } from '../dashboard/live-world.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

let live: LiveWorld;
let url = '';

beforeAll(async () => {
  live = new LiveWorld(1_500);
  for (let step = 0; step < 10; step++) live.step();
  url = await live.serve();
});

afterAll(() => live.close());

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

function flotilla(...argv: string[]): Promise<Ended> {
  const env = { ...process.env, FLOTILLA_API: url };
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...argv], { env, maxBuffer: 1 << 26 }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : 0, out, error });
    });
  });
}

async function json<T>(...argv: string[]): Promise<T> {
  const { code, out, error } = await flotilla(...argv, '--json');
  expect(error).toBe('');
  expect(code).toBe(0);
  return JSON.parse(out) as T;
}

const ESCAPE = '\x1b';

describe('flotilla needs', () => {
  it('prints a table with verdicts, without colours when the output is no terminal', async () => {
    const { code, out } = await flotilla('needs', '--unmet', '--limit', '5');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+ of 2,\d+ needs are unmet, cycle 10; showing the first 5\n/);
    expect(out.split('\n')[1]).toMatch(/^VERDICT +PRIORITY +CLUSTER/);
    expect(out.trimEnd().split('\n')).toHaveLength(7);
    expect(out).not.toContain(ESCAPE);
  });

  it('prints all needs as JSON, from as many pages as needed', async () => {
    const answer = await json<ApiNeeds>('needs', '--all');
    expect(answer.needs).toHaveLength(live.world.needs.count);
    expect(answer.next).toBe('');
    const ofCluster = await json<ApiNeeds>('needs', '--cluster', 'cluster-0002', '--all');
    expect(ofCluster.needs).toEqual(answer.needs.filter(({ clusterId }) => clusterId === 'cluster-0002'));
  });

  it('refreshes until Ctrl-C, and exits with 0', async () => {
    const env = { ...process.env, FLOTILLA_API: url };
    const child = spawn(process.execPath, [MAIN, 'needs', '--limit', '1', '--watch', '--every', '100ms'], {
      env,
    });
    let drawn = 0;
    child.stdout.on('data', (text: Buffer) => {
      drawn += String(text).split('needs are unmet').length - 1;
    });
    await expect.poll(() => drawn).toBeGreaterThan(2);
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0);
  });
});

describe('flotilla explain', () => {
  it('explains every unmet need of a cluster, each under its name', async () => {
    const { code, out } = await flotilla('explain', 'need', DISCONNECTED);
    expect(code).toBe(0);
    expect(out).toContain('Unmet: needs');
    expect(out).toContain(`The operator of cluster ${DISCONNECTED} is not connected`);
  });

  it('takes a fingerprint and a group, and exits with 1 for an unknown need', async () => {
    const { explanations } = await json<ApiNeedExplanations>('explain', 'need', DISCONNECTED);
    const { fingerprint, group } = explanations[0]!.need;
    const one = await json<ApiNeedExplanations>(
      'explain',
      'need',
      DISCONNECTED,
      fingerprint,
      `--group=${group}`,
    );
    expect(one.explanations).toHaveLength(1);
    const none = await flotilla('explain', 'need', DISCONNECTED, 'p=1|no-such');
    expect(none).toMatchObject({
      code: 1,
      error: `flotilla explain: Cluster ${DISCONNECTED} has no such need.\n`,
    });
    expect(await flotilla('explain', 'need', 'no-such-cluster')).toMatchObject({ code: 0 });
  });

  it('explains a machine, and exits with 1 for an unknown one', async () => {
    const { machines } = await json<ApiMachines>('machines', '--state', 'Failed', '--limit', '1');
    const { code, out } = await flotilla('explain', 'machine', machines[0]!.id);
    expect(code).toBe(0);
    expect(out).toContain('instance lost: host power failure');
    expect(out).toContain('It satisfies no need until provider test reports another state: the shard cannot');
    const none = await flotilla('explain', 'machine', 'no-such-machine');
    expect(none.code).toBe(1);
    expect(none.error).toContain('There is no machine "no-such-machine"');
  });
});

describe('flotilla tenants', () => {
  it('lists clusters and providers, those with refusals first, with the reason', async () => {
    const detail = 'A row has 70,000 bytes.';
    live.world.refusals.happened({ kind: 'rollup_rejected', level: 'warn', clusterId: DISCONNECTED, detail });
    const { out, code } = await flotilla('tenants', '--limit', '2');
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+ of \d+ tenants; showing the first 2\n/);
    expect(out.split('\n')[2]).toMatch(new RegExp(`^${DISCONNECTED} +cluster +1 .* ago: ${detail}`));
    const { tenants } = await json<ApiTenants>('tenants', '--providers', '--all');
    expect(tenants.map(({ name }) => name)).toEqual(['test', 'other']);
    const refused = await json<ApiTenants>('tenants', '--refused', '--clusters');
    expect(refused.tenants.map(({ name }) => name)).toEqual([DISCONNECTED]);
    expect((await flotilla('tenants', '--prefix', 'nothing')).out).toContain('No tenant matches');
  });
});

describe('flotilla machines', () => {
  it('lists the machines that match the filters, with their number', async () => {
    const { out } = await flotilla('machines', '--cluster', 'cluster-0000', '--limit', '3');
    expect(out).toMatch(/^\d+ of 1,500 machines; showing the first 3\n/);
    expect(out.trimEnd().split('\n')).toHaveLength(5);
    const all = await json<ApiMachines>('machines', '--all');
    expect(all.machines).toHaveLength(1_500);
  });

  it('prints the error of the shard in one line', async () => {
    const { code, error } = await flotilla('machines', '--state', 'Broken');
    expect(code).toBe(1);
    expect(error.trimEnd().split('\n')).toHaveLength(1);
    expect(error).toContain('It must be one of Speculative, Creating');
  });
});

describe('flotilla actions', () => {
  it('prints the most recent actions with --once', async () => {
    const { code, out } = await flotilla('actions', '--once', '--limit', '4');
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(4);
  });

  it('prints each new action as one line, and exits with 0 on Ctrl-C', async () => {
    const env = { ...process.env, FLOTILLA_API: url };
    const child = spawn(process.execPath, [MAIN, 'actions', '--json', '--limit', '1'], { env });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += String(chunk);
    });
    await expect.poll(() => text.split('\n').length).toBe(2);
    live.step();
    const last = live.history.lastAction;
    await expect.poll(() => text).toContain(`"sequence":${last},`);
    child.kill('SIGINT');
    expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0);
    const sequences = text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { sequence: number }).sequence);
    expect(sequences).toEqual(Array.from(sequences, (_, index) => sequences[0]! + index));
  });
});

describe('flotilla needs with limits', () => {
  it('T8: names the limit that keeps machines from a need', async () => {
    const { needs } = await json<ApiNeeds>('needs', '--unmet', '--all');
    const limited = { maxMachines: 0 };
    live.world.tenants.set(needs.map(({ clusterId }) => tenantLimits({ cluster: clusterId, ...limited })));
    try {
      live.step();
      expect((await flotilla('needs', '--unmet', '--all')).out).toContain('PRIORITY_STARVED (max-machines)');
    } finally {
      live.world.tenants.set([]);
    }
  });
});

describe('flotilla top', () => {
  it('prints the summary once when the output is no terminal', async () => {
    const { code, out } = await flotilla('top');
    expect(code).toBe(0);
    for (const words of [
      'shard-test',
      '1,500 machines',
      'Configured',
      'MOST EXPENSIVE CLUSTERS',
      'cycle ms',
      'at once at most: ',
      '20 % preempted',
    ]) {
      expect(out).toContain(words);
    }
    expect((await json<ApiOverview>('top')).machines).toBe(1_500);
  });

  it('draws a sparkline whose highest value is a full block', () => {
    expect(spark([0, 1, 2, 4])).toBe('▁▃▅█');
    expect(spark([])).toBe('');
  });
});

describe('a failure', () => {
  it('to connect is one line that says what to start', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    for (const command of [
      ['needs'],
      ['machines'],
      ['actions'],
      ['tenants'],
      ['top'],
      ['explain', 'machine', 'a'],
    ]) {
      const { code, error } = await flotilla(...command, '--api', `http://127.0.0.1:${port}`);
      expect(code, command[0]).toBe(1);
      expect(error.trimEnd().split('\n')).toHaveLength(1);
      expect(error).toContain('Start a shard with `flotilla shard`');
    }
  });

  it('of usage is one line, with exit code 2', async () => {
    for (const argv of [
      ['needs', '--nonsense'],
      ['needs', '--limit', 'many'],
      ['needs', '--watch', '--every', 'soon'],
      ['machines', '--api', 'nowhere'],
      ['explain', 'need'],
      ['explain', 'weather', 'today'],
      ['explain', 'machine', 'a', 'b'],
      ['actions', 'please'],
      ['completion', 'tcsh'],
    ]) {
      const { code, error } = await flotilla(...argv);
      expect(code, argv.join(' ')).toBe(2);
      expect(error.trimEnd().split('\n'), argv.join(' ')).toHaveLength(1);
    }
  });

  it('to find a shard at the address says that another server answered', async () => {
    const server = createServer((_request, response) => response.end('<html>hello</html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, error } = await flotilla('needs', '--api', `http://127.0.0.1:${port}`);
    expect(code).toBe(1);
    expect(error).toContain('is not a shard');
    await new Promise((resolve) => server.close(resolve));
  });

  it('cannot come from a machine’s name: the terminal shows no escape sequence, JSON has the name unchanged', async () => {
    const id = `m\x1b[2J\n\x9b31m${ESCAPE}]0;x\x07`;
    const machine = { id, state: 'Failed', forMs: 1, instanceType: id, zone: id, capacityType: 'spot' };
    const rest = { pricePerHourUsd: 1, clusterId: id, priority: 0, action: '', lastError: id };
    const page = { total: 1, matching: 1, next: '', machines: [{ ...machine, ...rest }] };
    const server = createServer((_request, response) => response.end(JSON.stringify(page)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { out } = await flotilla('machines', '--api', `http://127.0.0.1:${port}`);
    expect(out).toContain('m [2J 31m ]0;x');
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(out.trimEnd().split('\n')).toHaveLength(3);
    const asJson = await flotilla('machines', '--json', '--api', `http://127.0.0.1:${port}`);
    expect((JSON.parse(asJson.out) as ApiMachines).machines[0]!.id).toBe(id);
    await new Promise((resolve) => server.close(resolve));
  });

  it('is not a reader that closes the pipe early', async () => {
    const command = `"${process.execPath}" "${MAIN}" machines --all --api ${url} | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const out = await new Promise<string>((resolve) => {
      execFile('bash', ['-c', command], (_failure, text, error) => resolve(text + error));
    });
    expect(out.trimEnd().split('\n')).toEqual(['1,500 of 1,500 machines', '0']);
  });
});

describe('help', () => {
  it('of every command has examples and names each flag', async () => {
    for (const command of ['needs', 'machines', 'explain', 'actions', 'tenants', 'top']) {
      const { code, out } = await flotilla(command, '--help');
      expect(code).toBe(0);
      expect(out).toContain('Examples:');
      expect(flagsIn(out)).toContain('--api');
    }
  });
});

describe('flotilla completion', () => {
  it('prints scripts with commands, flags and values, and the one for bash works', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, out } = await flotilla('completion', shell);
      expect(code).toBe(0);
      for (const word of ['machines', 'unmet', 'Configured', 'conformance']) expect(out).toContain(word);
      if (shell !== 'bash') continue;
      const path = join(tmpdir(), `flotilla-completion-${process.pid}.bash`);
      writeFileSync(path, out);
      const script = `source ${path}; COMP_WORDS=(flotilla machines --state Fai); COMP_CWORD=3; _flotilla; echo "\${COMPREPLY[@]}"`;
      const completed = await new Promise<string>((resolve) => {
        execFile('bash', ['-c', script], (_failure, text, error) => resolve(text + error));
      });
      rmSync(path);
      expect(completed).toBe('Failed\n');
      writeFileSync(path, out);
      const named = `flotilla() { FLOTILLA_API=${url} "${process.execPath}" "${MAIN}" "$@"; }; source ${path}; COMP_WORDS=(flotilla explain provider t); COMP_CWORD=3; _flotilla; echo "\${COMPREPLY[@]}"`;
      const ids = await new Promise<string>((resolve) => {
        execFile('bash', ['-c', named], (_failure, text, error) => resolve(text + error));
      });
      rmSync(path);
      expect(ids).toBe('test\n');
    }
  });
});

describe('lists', () => {
  it('print names, JSON or YAML, sort by a column, and end with 3 if nothing matches', async () => {
    const names = await flotilla('machines', '--limit', '5', '-o', 'name', '--api', url);
    expect(names.code).toBe(0);
    const ids = names.out.trimEnd().split('\n');
    expect(ids).toHaveLength(5);
    const yaml = await flotilla('machines', '--limit', '5', '-o', 'yaml', '--api', url);
    for (const id of ids) expect(yaml.out).toContain(`id: ${id}`);
    const down = await flotilla('machines', '--limit', '5', '--sort', 'id:desc', '-o', 'name', '--api', url);
    expect(down.out.trimEnd().split('\n')).toEqual(ids.toReversed());
    const dear = await flotilla('clusters', '--sort', 'machines:desc', '-o', 'json', '--api', url);
    const counts = (JSON.parse(dear.out) as ApiClusters).clusters.map(({ machines }) => machines);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    const none = await flotilla('machines', '--prefix', 'no-such', '--api', url);
    expect(none.code).toBe(3);
    expect(none.out).toContain('No machine matches the filters.');
    const wrong = await flotilla('machines', '--sort', 'colour', '--api', url);
    expect(wrong.code).toBe(2);
    expect(wrong.error).toContain('must be one of the columns: id, state');
    expect((await flotilla('machines', '-o', 'xml', '--api', url)).code).toBe(2);
  });

  it('tell about one cluster', async () => {
    const told = await flotilla('explain', 'cluster', 'cluster-0002', '--api', url);
    expect(told.code).toBe(0);
    expect(told.out).toContain('Its operator has been connected for');
    expect((await flotilla('explain', 'cluster', 'nowhere', '--api', url)).code).toBe(1);
  });
});

describe('flotilla providers and offerings', () => {
  it('list, explain one, and end with 3 if nothing matches', async () => {
    const { code, out } = await flotilla('providers');
    expect(code).toBe(0);
    expect(out).toMatch(/^2 of 2 providers\nPROVIDER +MACHINES/);
    const { offerings } = await json<ApiOfferings>('offerings', '--capacity', 'spot', '--all');
    expect(offerings.length).toBeGreaterThan(0);
    for (const { capacityType } of offerings) expect(capacityType).toBe('spot');
    const short = offerings[0]!.name.slice('test/'.length);
    const told = await flotilla('explain', 'offering', short);
    expect(told).toMatchObject({ code: 0, error: '' });
    expect(told.out).toMatch(new RegExp(`^${offerings[0]!.name}\\nNot in back-off\\.`));
    expect((await flotilla('explain', 'provider', 'test')).out).toContain('It has 1,500 machines');
    expect((await flotilla('explain', 'provider', 'nobody')).code).toBe(1);
    expect((await flotilla('offerings', '--backoff')).code).toBe(3);
  });
});

describe('flotilla gangs and shards', () => {
  it('list and explain them with the machines that serve a gang, and its history', async () => {
    const { code, out } = await flotilla('gangs', '--spanning', '--limit', '3');
    expect(code).toBe(0);
    expect(out).toMatch(/ gangs are unmet, \d+ span machines, cycle \d+; showing the first 3\n/);
    const { gangs } = await json<ApiGangs>('gangs', '--all');
    const folded = gangs.find(({ shared }) => shared > 0)!;
    const told = await flotilla('explain', 'gang', `${folded.clusterId}/${folded.group}`);
    expect(told).toMatchObject({ code: 0, error: '' });
    expect(told.out).toContain('They serve it in one fold with similar needs');
    expect(told.out).toMatch(/Its machines? (is|are) /);
    expect((await flotilla('explain', 'gang', 'cluster-0000/no-such-job')).code).toBe(1);
    expect((await flotilla('gangs', '--cluster', 'nowhere')).code).toBe(3);
    const past = await flotilla('history', 'gang', `${folded.clusterId}/${folded.group}`);
    expect([0, 3]).toContain(past.code);
    expect(past.error).toBe('');
  });

  it('list the shards at several addresses, and exit with 1 if one does not answer', async () => {
    const one = await flotilla('shards', '-o', 'name');
    expect(one.code).toBe(0);
    const two = await flotilla('shards', url, 'http://127.0.0.1:1');
    expect(two.code).toBe(1);
    expect(two.out).toMatch(/^1 of 2 shards answered\nCannot reach the shard at http:\/\/127\.0\.0\.1:1/);
    const told = await flotilla('explain', 'shard');
    expect(told.out).toContain(`Shard ${one.out.trim()} is ready, and nothing keeps it from its work.`);
    expect((await flotilla('explain', 'shard', 'other')).code).toBe(1);
  });
});

/** The last heading at either width: nothing that is shown is cut. */
const LAST_HEADINGS = new Map([
  ['needs', /UNMET FOR( +REQUIREMENTS)?$/],
  ['gangs', /UNMET FOR( +MISSING( +REQUIREMENTS)?)?$/],
  ['machines', /(CLUSTER|PRIORITY|NOTES)$/],
  ['clusters', /(LAST ROLL-UP|NOTES)$/],
  ['providers', /NOTES$/],
  ['offerings', /BACK-OFF$/],
  ['shards', /TROUBLES$/],
]);

describe('every list', () => {
  for (const width of [80, 120])
    it(`fits a terminal of ${width} characters without a cut heading`, async () => {
      for (const command of [NEEDS, GANGS, MACHINES, CLUSTERS, PROVIDERS, OFFERINGS, SHARDS]) {
        let text = '';
        const output: Output = {
          out: (part) => {
            text += part;
          },
          error: () => {},
          ...{ isTerminal: true, hasColour: false, width },
        };
        expect(await runCommand(command, ['--all', '--api', url], output), command.name).toBe(0);
        const [title = '', head = '', ...lines] = text.trimEnd().split('\n');
        for (const line of [title, head, ...lines])
          expect(line.length, `${command.name}: ${line}`).toBeLessThanOrEqual(width);
        expect(head, command.name).toMatch(LAST_HEADINGS.get(command.name)!);
      }
    });
});

describe('on a terminal', () => {
  it('output has colours, and lines are cut at its width', async () => {
    let text = '';
    const output: Output = {
      out: (part) => {
        text += part;
      },
      error: (part) => {
        text += part;
      },
      isTerminal: true,
      hasColour: true,
      width: 60,
    };
    expect(await runCommand(NEEDS, ['--unmet', '--limit', '3', '--api', url], output)).toBe(0);
    expect(text).toContain(`${ESCAPE}[31m`);
    const plain = text
      .replaceAll(new RegExp(`${ESCAPE}\\[\\d+m`, 'g'), '')
      .split('\n')
      .slice(1);
    for (const line of plain) expect(line.length).toBeLessThanOrEqual(60);
  });
});
