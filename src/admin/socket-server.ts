/** Serves admins on a Unix socket. The folder of the socket decides who may connect, so nothing else is checked here. */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import type { ServedService } from './service.ts';

/** A roll-up file of 131,072 needs, the most that one cluster may have; other commands have texts of 5 KB. */
const MESSAGE_BYTES_MAX = 32 << 20;
const CLOSE_GRACE_MS = 500;

export class AdminSocketError extends ShardError {
  readonly code = 'admin_socket';
  readonly next = 'retry-later';

  constructor(path: string, why: string) {
    super(`The shard cannot serve admins on ${path}: ${why}.`);
  }
}

export class AdminSocketServer {
  readonly #grpc: Server;

  /** Rejects with AdminSocketError. */
  static async listen(
    socketPath: string,
    { definition, implementation }: ServedService,
  ): Promise<AdminSocketServer> {
    const grpc = new Server({
      'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
      'grpc.enable_channelz': 0,
    });
    grpc.addService(definition, implementation);
    await new Promise<void>((resolve, reject) => {
      grpc.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(new AdminSocketError(socketPath, error.message));
      });
    });
    return new AdminSocketServer(grpc);
  }

  private constructor(grpc: Server) {
    this.#grpc = grpc;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#grpc.forceShutdown();
        resolve();
      }, CLOSE_GRACE_MS);
      this.#grpc.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
