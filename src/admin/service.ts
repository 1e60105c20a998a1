/**
 * The admin service: commands of people to a running shard (H1). The socket lets in every process that may enter its folder; TLS lets in
 * only a certificate with the identity bigfleet://admin.
 */
import {
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import type { AdminPort, ControlScope, ControlView } from '../shard/ports/controls.ts';
import type { WhatIfPort } from '../shard/ports/what-if.ts';
import {
  adminService,
  type ConfirmRemovalReplyInit,
  type ConfirmRemovalRequest,
  type ControlInit,
  type ListControlsReplyInit,
  type OrderReplyInit,
  type OrderRequest,
  type PauseReplyInit,
  type PauseRequest,
  type ResumeReplyInit,
  type ResumeRequest,
  type Scope,
  type WhatIfReplyInit,
  type WhatIfRequest,
} from '../wire/admin.ts';

/** Who the caller is, as the connection shows it, or why it may not command. */
export type Admission = { readonly via: string } | { readonly refusal: string };

/** What an admission looks at. */
export type AdminCall = Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'getAuthContext'>;

export interface AdminServiceOptions {
  readonly shardId: string;
  readonly admin: AdminPort;
  readonly whatIf: WhatIfPort;
  readonly admit: (call: AdminCall) => Admission;
  /** A caller was refused. */
  readonly onRefused: (peer: string, why: string) => void;
}

export interface ServedService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export function adminServiceOf(options: AdminServiceOptions): ServedService {
  const { admin, shardId } = options;
  const warning = () => admin.warning?.() ?? '';
  const pause = serve<PauseRequest, PauseReplyInit>(
    options,
    async ({ pauses, scope, forMs, who, why }, via) => ({
      control: controlOf(await admin.pause({ pauses, scope: scopeOf(scope), forMs, who, why, via })),
      warning: warning(),
    }),
  );
  const resume = serve<ResumeRequest, ResumeReplyInit>(options, async (request, via) => {
    const { id, pauses, scope, every: isEvery, who, why } = request;
    const lifted = await admin.resume({ id, pauses, scope: scopeOf(scope), isEvery, who, why, via });
    return { lifted: lifted.map(controlOf), warning: warning() };
  });
  const list = serve<object, ListControlsReplyInit>(options, async () => ({
    controls: admin.controls().map(controlOf),
    shardId,
    warning: warning(),
  }));
  const confirmRemoval = serve<ConfirmRemovalRequest, ConfirmRemovalReplyInit>(
    options,
    async ({ provider, who, why }, via) => {
      const { knownCount, missingCount } = await admin.confirmRemoval({ provider, who, why, via });
      return { provider, known: knownCount, missing: missingCount };
    },
  );
  const order = serve<OrderRequest, OrderReplyInit>(
    options,
    async ({ order: name, scopes, forMs, preview: isPreview, who, why }, via) => {
      const command = { order: name, scopes: scopes.map(scopeOf), forMs, isPreview, who, why, via };
      const { controls, machines, lines } = await admin.order(command);
      return { controls: controls.map(controlOf), machines, lines: [...lines], warning: warning() };
    },
  );
  return {
    definition: adminService as ServiceDefinition,
    implementation: {
      Pause: pause,
      Resume: resume,
      ListControls: list,
      ConfirmRemoval: confirmRemoval,
      Order: order,
      WhatIf: serveWhatIf(options),
    },
  };
}

function serve<Request, Reply>(
  { admit, onRefused }: AdminServiceOptions,
  run: (request: Request, via: string) => Promise<Reply>,
): handleUnaryCall<Request, Reply> {
  return (call: ServerUnaryCall<Request, Reply>, answer: sendUnaryData<Reply>) => {
    const admission = admit(call);
    if ('refusal' in admission) {
      onRefused(call.getPeer(), admission.refusal);
      answer({ code: status.PERMISSION_DENIED, details: admission.refusal });
      return;
    }
    run(call.request, admission.via).then(
      (reply) => answer(null, reply),
      (error: Error) => answer({ code: statusOf(error), details: error.message }),
    );
  };
}

/** Y4: progress and answer as lines. A caller that goes away ends the calculation. */
function serveWhatIf({ admit, onRefused, whatIf }: AdminServiceOptions) {
  return (call: ServerWritableStream<WhatIfRequest, WhatIfReplyInit>) => {
    const admission = admit(call);
    if ('refusal' in admission) {
      onRefused(call.getPeer(), admission.refusal);
      call.emit('error', { code: status.PERMISSION_DENIED, details: admission.refusal });
      return;
    }
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const write = (line: object) => void call.write({ line: JSON.stringify(line) });
    whatIf
      .ask(call.request, (progress) => write({ progress }), gone.signal)
      .then(
        (answer) => {
          write({ answer });
          call.end();
        },
        (error: Error) => call.emit('error', { code: statusOf(error), details: error.message }),
      );
  };
}

function statusOf(error: Error): status {
  if (!(error instanceof ShardError)) return status.INTERNAL;
  return error.next === 'reject-input' ? status.INVALID_ARGUMENT : status.UNAVAILABLE;
}

function scopeOf(scope: Scope | null): ControlScope {
  const { cluster = '', provider = '', zone = '' } = scope ?? {};
  const { instanceType = '', capacityType = '', machine = '' } = scope ?? {};
  return { cluster, provider, zone, instanceType, capacityType, machine };
}

function controlOf(control: ControlView): ControlInit {
  const { id, pauses, scope, who, why, via, sinceMs, untilMs, isDeclared, stopped, holding } = control;
  return {
    id,
    pauses,
    scope,
    who,
    why,
    via,
    sinceUnixMs: sinceMs,
    untilUnixMs: untilMs ?? 0,
    declared: isDeclared,
    stopped,
    holding,
  };
}
