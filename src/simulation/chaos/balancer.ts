/** What a Service of Kubernetes does for the replicas of a shard: it sends each new connection to the next one that is ready. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export interface BalancerTarget {
  /** `host:port` of the operators' port. */
  readonly address: string;
  /** Where `readyz` is. */
  readonly http: string;
}

export class Balancer {
  targets: readonly BalancerTarget[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #next = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      this.#keep(socket);
      void this.#pass(socket);
    });
  }

  static async listen(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** Tries every target once, from the next one on. */
  async #pass(near: Socket): Promise<void> {
    const from = this.#next++;
    const { targets } = this;
    for (let tried = 0; tried < targets.length; tried++) {
      const { address, http } = targets[(from + tried) % targets.length]!;
      if (!(await isReady(http))) continue;
      const [host, port] = address.split(':');
      const far = connect(Number(port), host);
      this.#keep(far);
      if (!(await isConnected(far))) continue;
      near.pipe(far).on('close', () => near.destroy());
      far.pipe(near).on('close', () => far.destroy());
      return;
    }
    near.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

async function isReady(http: string): Promise<boolean> {
  try {
    return (await fetch(`${http}readyz`)).ok;
  } catch {
    return false;
  }
}

async function isConnected(socket: Socket): Promise<boolean> {
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  }
}
