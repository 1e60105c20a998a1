/**
 * A real etcd, for the directory's tests and for faults. `FLOTILLA_TEST_ETCD` and the PATH are searched first. If there is none and the process
 * may install packages, it installs etcd; otherwise the tests fail and say what to do.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const INSTALL_MS_MAX = 300_000;
const START_MS_MAX = 60_000;
/** A port that was free a moment ago may be taken. */
const STARTS_MAX = 5;

export async function findEtcd(): Promise<string> {
  const named = process.env.FLOTILLA_TEST_ETCD;
  if (named !== undefined && named !== '') return named;
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'etcd'))
    .find((path) => existsSync(path));
  if (found !== undefined) return found;
  const advice =
    'The directory’s tests need an etcd: `apt-get install etcd-server`, or FLOTILLA_TEST_ETCD=/path/to/etcd.';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(advice);
  try {
    const options = { timeout: INSTALL_MS_MAX, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['update', '-qq'], options);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'etcd-server'], options);
  } catch (error) {
    throw new Error(`${advice} Installing it here failed: ${(error as Error).message.split('\n')[0]}`);
  }
  return '/usr/bin/etcd';
}

export interface EtcdServerOptions {
  /** Members of one cluster know each other from the start. */
  readonly cluster?: { readonly name: string; readonly members: readonly Member[] };
  /** PEM files of a server that requires certificates of its clients. */
  readonly tls?: {
    readonly certificatePath: string;
    readonly privateKeyPath: string;
    readonly caPath: string;
  };
}

export interface Member {
  readonly name: string;
  readonly peerPort: number;
}

/** One member on loopback. It writes without fsync: the tests cut no power. */
export class EtcdServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'flotilla-etcd-'));
  readonly #options: EtcdServerOptions;
  #clientPort = 0;
  #peerPort = 0;
  #process: ChildProcess | null = null;

  private constructor(options: EtcdServerOptions) {
    this.#options = options;
  }

  /** Several members of one cluster. */
  static async startCluster(memberCount: number): Promise<EtcdServer[]> {
    const members: Member[] = [];
    for (let index = 0; index < memberCount; index++) {
      members.push({ name: `member-${index}`, peerPort: await freePort() });
    }
    return Promise.all(
      members.map(async ({ name, peerPort }) => {
        const server = new EtcdServer({ cluster: { name, members } });
        [server.#clientPort, server.#peerPort] = [await freePort(), peerPort];
        await server.resume();
        return server;
      }),
    );
  }

  static async start(options: EtcdServerOptions = {}): Promise<EtcdServer> {
    const server = new EtcdServer(options);
    for (let starts = 1; ; starts++) {
      try {
        [server.#clientPort, server.#peerPort] = [await freePort(), await freePort()];
        await server.resume();
        return server;
      } catch (error) {
        if (starts >= STARTS_MAX) throw error;
      }
    }
  }

  get address(): string {
    return `127.0.0.1:${this.#clientPort}`;
  }

  /** Starts the process with the data that it left. */
  async resume(): Promise<void> {
    const { tls, cluster } = this.#options;
    const { name, members } = cluster ?? {
      name: 'test',
      members: [{ name: 'test', peerPort: this.#peerPort }],
    };
    const scheme = tls === undefined ? 'http' : 'https';
    const clientUrl = `${scheme}://${this.address}`;
    const peerUrl = loopback(this.#peerPort);
    const child = spawn(
      await findEtcd(),
      [
        ['--name', name],
        ['--data-dir', join(this.#folder, 'data')],
        ['--listen-client-urls', clientUrl],
        ['--advertise-client-urls', clientUrl],
        ['--listen-peer-urls', peerUrl],
        ['--initial-advertise-peer-urls', peerUrl],
        [
          '--initial-cluster',
          members.map((member) => `${member.name}=${loopback(member.peerPort)}`).join(','),
        ],
        // A short election allows leases of one second.
        ['--heartbeat-interval', '50'],
        ['--election-timeout', '500'],
        ['--unsafe-no-fsync'],
        tls === undefined
          ? []
          : [
              ['--cert-file', tls.certificatePath],
              ['--key-file', tls.privateKeyPath],
              ['--trusted-ca-file', tls.caPath],
              ['--client-cert-auth'],
            ].flat(),
      ].flat(),
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#process = child;
    await whenServing(child);
  }

  /** Kills the process; its data stay. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null || child.exitCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await exited;
  }

  /** The process stands still: it accepts connections and answers nothing. */
  pause(): void {
    this.#process!.kill('SIGSTOP');
  }

  unpause(): void {
    this.#process!.kill('SIGCONT');
  }

  /** Copies the data of a stopped server. */
  backUp(): void {
    rmSync(join(this.#folder, 'backup'), { recursive: true, force: true });
    cpSync(join(this.#folder, 'data'), join(this.#folder, 'backup'), { recursive: true });
  }

  /** Puts the copy in place of a stopped server's data. */
  restore(): void {
    rmSync(join(this.#folder, 'data'), { recursive: true, force: true });
    cpSync(join(this.#folder, 'backup'), join(this.#folder, 'data'), { recursive: true });
  }

  async compact(revision: number): Promise<void> {
    const answer = await fetch(`http://${this.address}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: String(revision) }),
    });
    if (!answer.ok) throw new Error(`etcd did not compact: ${await answer.text()}`);
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function loopback(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** Resolves when the log says that clients are served; rejects if the process ends first. */
function whenServing(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const timer = setTimeout(() => fail('etcd did not start in time'), START_MS_MAX);
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${why}: ${log.slice(-1_000)}`));
    };
    const onExit = () => fail('etcd ended');
    child.once('exit', onExit);
    child.once('error', (error) => fail(error.message));
    child.stderr!.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
      if (!/ready to serve client requests/.test(log)) return;
      clearTimeout(timer);
      child.off('exit', onExit);
      resolve();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
