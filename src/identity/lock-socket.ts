/**
 * A listening socket as proof of life. The kernel answers for it, whatever its process is busy with, stopped
 * or not, in whichever container; and it refuses the moment the process is dead, however it died. No pid is
 * compared, so none can be mistaken for another.
 */
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { boundedDetail } from '../base/outside-text.ts';

/** A living process names itself at once; one that is stopped or busy is living all the same. */
const NAME_WAIT_MS = 250;
const NAME_CHARS_MAX = 256;

export class LockSocket {
  readonly #server: Server;

  /** Listens at a path at which there is nothing yet. Rejects with the system's error. */
  static listen(path: string): Promise<LockSocket> {
    const server = createServer((caller) => {
      caller.on('error', () => {}); // gone before it heard our name
      caller.end(`process ${process.pid} on ${hostname()}`);
    });
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path, exclusive: true }, () => {
        server.off('error', reject);
        server.on('error', () => {}); // a caller that could not be accepted knows enough
        server.unref(); // a lock keeps nobody alive
        resolve(new LockSocket(server));
      });
    });
  }

  private constructor(server: Server) {
    this.#server = server;
  }

  /** From here on callers are refused. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

export type Liveness =
  | { readonly kind: 'living'; readonly holder: string }
  | { readonly kind: 'dead' }
  | { readonly kind: 'gone' } // there is nothing at that path any more
  | { readonly kind: 'dying' }; // it took the call and hung up without a word: ask again

/** Asks the socket at a path. Rejects with the system's error if nobody can tell. */
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
      // Not before: on a stalled machine it would end before the kernel's refusal was heard.
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
