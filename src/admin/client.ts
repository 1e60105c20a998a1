/** The client's end of the admin service, for commands. */
import { type ChannelCredentials, Client, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import {
  adminService,
  type ConfirmRemovalReply,
  type ConfirmRemovalRequestInit,
  type ListControlsReply,
  type OrderReply,
  type OrderRequestInit,
  type PauseReply,
  type PauseRequestInit,
  type ResumeReply,
  type ResumeRequestInit,
  type WhatIfReply,
  type WhatIfRequestInit,
} from '../wire/admin.ts';
import type { Method } from '../wire/services.ts';

/** A command is stored before it is answered; a disk may be slow. */
const CALL_MS = 30_000;
/** A what-if question tells its progress meanwhile. */
const WHAT_IF_MS = 600_000;

/** The shard refused the command, or did not answer. */
export class AdminCallError extends ShardError {
  readonly code = 'admin_call';
  readonly next = 'reject-input';

  constructor(target: string, { code, details }: ServiceError) {
    super(
      code === status.INVALID_ARGUMENT || code === status.PERMISSION_DENIED
        ? details
        : code === status.UNIMPLEMENTED
          ? `The shard at ${target} serves no admins there. Start it with --admin-over-tls, or run the command on its host with --data-dir.`
          : `The shard at ${target} did not carry out the command: ${details}.`,
    );
  }
}

export class AdminClient {
  readonly #client: Client;
  readonly #target: string;

  constructor(target: string, credentials: ChannelCredentials) {
    this.#target = target;
    // Without it a socket's path would be the authority of the call, which HTTP/2 does not allow.
    const options = target.startsWith('unix:') ? { 'grpc.default_authority': 'localhost' } : {};
    this.#client = new Client(target, credentials, options);
  }

  pause(request: PauseRequestInit): Promise<PauseReply> {
    return this.#call(adminService.Pause, request);
  }

  resume(request: ResumeRequestInit): Promise<ResumeReply> {
    return this.#call(adminService.Resume, request);
  }

  controls(): Promise<ListControlsReply> {
    return this.#call(adminService.ListControls, {});
  }

  confirmRemoval(request: ConfirmRemovalRequestInit): Promise<ConfirmRemovalReply> {
    return this.#call(adminService.ConfirmRemoval, request);
  }

  order(request: OrderRequestInit): Promise<OrderReply> {
    return this.#call(adminService.Order, request);
  }

  /** Y4: the lines of the answer as they come. */
  async *whatIf(request: WhatIfRequestInit): AsyncGenerator<string> {
    const { path, requestSerialize, responseDeserialize } = adminService.WhatIf;
    const deadline = Date.now() + WHAT_IF_MS;
    const call = this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      new Metadata(),
      { deadline },
    );
    try {
      for await (const reply of call) yield (reply as WhatIfReply).line;
    } catch (error) {
      throw new AdminCallError(this.#target, error as ServiceError);
    } finally {
      call.cancel();
    }
  }

  close(): void {
    this.#client.close();
  }

  #call<Request, Reply>(
    { path, requestSerialize, responseDeserialize }: Method<Request, unknown, never, Reply>,
    request: Request,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const deadline = Date.now() + CALL_MS;
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        { deadline },
        (error, reply) => {
          if (error !== null) reject(new AdminCallError(this.#target, error));
          else resolve(reply!);
        },
      );
    });
  }
}
