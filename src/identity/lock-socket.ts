/**
 * A listening socket proves that its process is alive. The kernel accepts connections while the process is busy or
 * stopped, and across containers, and refuses them as soon as the process is dead, however it died. No pids are
 * compared, so a reused pid cannot mislead.
 */
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { boundedDetail } from '../base/outside-text.ts';

/** A running process sends its name at once; a stopped or busy one counts as alive without it. */
const NAME_WAIT_MS = 250;
const NAME_CHARS_MAX = 256;

export class LockSocket {
  readonly #server: Server;

  /** Listens at a path where no file exists. Rejects with the system's error. */
  static listen(path: string): Promise<LockSocket> {
    const server = createServer((caller) => {
      caller.on('error', () => {}); // it hung up before it read our name
      caller.end(`process ${process.pid} on ${hostname()}`);
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path, exclusive: true }, () => {
        server.off('error', reject);
        server.on('error', () => {}); // a caller that was not accepted sees a live socket all the same
        server.unref(); // a lock does not keep its process running
        resolve(new LockSocket(server));
      });
    });
  }

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Refuses connections from now on. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

export type Liveness =
  | { readonly kind: 'living'; readonly holder: string }
  | { readonly kind: 'dead' }
  | { readonly kind: 'gone' } // the file no longer exists
  | { readonly kind: 'dying' }; // it accepted and hung up without a name: ask again

/** Asks the socket at a path. Rejects with the system's error if the answer is neither alive nor dead. */
export function askLiveness(path: string): Promise<Liveness> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    let isConnected = false;
    let name = '';
    let timer: NodeJS.Timeout | undefined;
    const settle = (liveness: Liveness) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(liveness);
    };
    socket.once('connect', () => {
      isConnected = true;
      // Not before: on a stalled machine the timer would end before the kernel's refusal arrives.
      timer = setTimeout(() => settle({ kind: 'living', holder: '' }), NAME_WAIT_MS);
    });
    socket.on('data', (chunk) => {
      name += chunk.toString();
      if (name.length > NAME_CHARS_MAX) settle({ kind: 'living', holder: '' });
    });
    socket.once('end', () => {
      settle(name === '' ? { kind: 'dying' } : { kind: 'living', holder: boundedDetail(name) });
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (isConnected || error.code === 'ECONNRESET') settle({ kind: 'dying' });
      else if (error.code === 'ECONNREFUSED') settle({ kind: 'dead' });
      else if (error.code === 'ENOENT') settle({ kind: 'gone' });
      else if (error.code === 'EAGAIN')
        settle({ kind: 'living', holder: '' }); // its queue of callers is full
      else reject(error);
    });
  });
}
