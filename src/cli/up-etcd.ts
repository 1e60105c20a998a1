/** An etcd for `flotilla up --standby`, on loopback and with data that go with the demo. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { ShardError } from '../base/errors.ts';

const START_MS_MAX = 30_000;
const PROGRAM = 'etcd';

export class NoEtcdError extends ShardError {
  readonly code = 'no_etcd';
  readonly next = 'refuse-to-start';

  constructor(why: string) {
    super(
      `--standby needs an etcd on this machine, and ${why}. Install one (Debian: apt-get install etcd-server), or name it ` +
        'with FLOTILLA_TEST_ETCD=/path/to/etcd.',
    );
  }
}

export class EtcdProcess {
  readonly address: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  /** Resolves when it serves clients. Rejects with NoEtcdError. */
  static async start(dataDir: string): Promise<EtcdProcess> {
    const path = findEtcd();
    const [clientPort, peerPort] = [await freePort(), await freePort()];
    const [client, peer] = [`127.0.0.1:${clientPort}`, `127.0.0.1:${peerPort}`];
    const flags = [
      ...['--name', 'up', '--data-dir', dataDir, '--initial-cluster', `up=http://${peer}`],
      ...['--listen-client-urls', `http://${client}`, '--advertise-client-urls', `http://${client}`],
      ...['--listen-peer-urls', `http://${peer}`, '--initial-advertise-peer-urls', `http://${peer}`],
      '--unsafe-no-fsync', // a demo cuts no power
    ];
    // Its own process group, as other children: Ctrl-C reaches only this process, which ends it last.
    const child = spawn(path, flags, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    const etcd = new EtcdProcess(child, client);
    process.on('exit', () => child.kill('SIGKILL'));
    await whenServing(child, path);
    return etcd;
  }

  private constructor(child: ChildProcess, address: string) {
    this.#child = child;
    this.address = address;
    this.#exited = new Promise((resolve) => child.once('exit', resolve));
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}

function findEtcd(): string {
  const named = process.env.FLOTILLA_TEST_ETCD ?? '';
  if (named !== '') return named;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, PROGRAM)).find((path) => existsSync(path));
  if (found === undefined) throw new NoEtcdError('there is none on the PATH');
  return found;
}

function whenServing(child: ChildProcess, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new NoEtcdError(why));
    };
    const timer = setTimeout(() => fail(`${path} did not start in time`), START_MS_MAX);
    child.once('error', (error) => fail(`${path} cannot be started (${error.message})`));
    const onExit = () => fail(`${path} ended: ${log.trim().split('\n').at(-1) ?? ''}`);
    child.once('exit', onExit);
    child.stderr!.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
      if (!log.includes('ready to serve client requests')) return;
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
