/**
 * The smallest provider that keeps the contract: six machines in memory, asynchronous acks, no cursors. A real
 * provider calls a cloud or a rack controller where this one starts a timer, and stores `machines` and `marks` so
 * that they survive a restart. docs/writing-a-provider.md explains each step; `flotilla conformance` checks them.
 *
 * It needs only @grpc/grpc-js, @grpc/proto-loader and the folder proto/ of this repository.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const State = {
  Speculative: 1,
  Creating: 2,
  Idle: 3,
  Configuring: 4,
  Configured: 5,
  Draining: 6,
  Deleting: 7,
} as const;

/** Field names as on the wire (`keepCase`). Fields that are missing here have their default. */
interface Machine {
  readonly id: string;
  state: number;
  host?: { readonly provider: string; readonly ref: string } | undefined;
  readonly instance_type: string;
  readonly zone: string;
  readonly capacity_type: number;
  readonly price_per_hour: number;
  readonly resources: { readonly resources: Readonly<Record<string, string>> };
  readonly labels: Readonly<Record<string, string>>;
  cluster: string;
  shard_metadata: Readonly<Record<string, string>>;
}

/** int64 arrives as text (`longs: String`): a double cannot distinguish 2^53 from 2^53 + 1. */
interface Mutation {
  readonly machine_id: string;
  readonly shard_id: string;
  readonly shard_epoch: string;
  readonly sequence_number: string;
}

interface Configuration extends Mutation {
  readonly cluster_id: string;
  readonly bootstrap_blob: Uint8Array;
  readonly shard_metadata: Readonly<Record<string, string>>;
}

interface Move {
  readonly name: string;
  readonly from: number;
  readonly through: number;
  readonly to: number;
}

const CREATE: Move = { name: 'create', from: State.Speculative, through: State.Creating, to: State.Idle };
const CONFIGURE: Move = {
  name: 'configure',
  from: State.Idle,
  through: State.Configuring,
  to: State.Configured,
};
const DRAIN: Move = { name: 'drain', from: State.Configured, through: State.Draining, to: State.Idle };
const DELETE: Move = { name: 'delete', from: State.Idle, through: State.Deleting, to: State.Speculative };

class Refusal extends Error {
  readonly code: status;

  constructor(code: status, details: string) {
    super(details);
    this.code = code;
  }
}

export class MinimalProvider {
  readonly #machines = new Map<string, Machine>();
  /** By shard and machine: the newest token accepted. Must survive a restart. */
  readonly #marks = new Map<string, { readonly epoch: bigint; readonly sequence: bigint }>();
  /** By machine: the last operation, to recognise a repeated call. */
  readonly #operations = new Map<string, { readonly move: Move; readonly id: string }>();
  readonly #workMs: number;

  constructor(workMs: number) {
    this.#workMs = workMs;
    for (let index = 1; index <= 6; index++) {
      const isOffer = index <= 4;
      this.#machines.set(`m-${index}`, {
        id: `m-${index}`,
        state: isOffer ? State.Speculative : State.Idle,
        host: isOffer ? undefined : hostOf(`m-${index}`),
        instance_type: 'standard-16',
        zone: 'zone-a',
        capacity_type: 3, // on demand
        price_per_hour: 0.8,
        resources: { resources: { cpu: '16', memory: '64Gi' } },
        labels: { 'topology.kubernetes.io/rack': `r${index % 2}` },
        cluster: '',
        shard_metadata: {},
      });
    }
  }

  create(request: Mutation) {
    return this.#begin(request, CREATE, (machine) => {
      machine.host = hostOf(machine.id);
    });
  }

  configure(request: Configuration) {
    // Store the binding at once: a restarted shard learns of this call only from it.
    const bind = (machine: Machine) => {
      machine.cluster = request.cluster_id;
      machine.shard_metadata = request.shard_metadata;
    };
    return this.#begin(request, CONFIGURE, () => {}, bind);
  }

  drain(request: Mutation) {
    return this.#begin(request, DRAIN, (machine) => {
      machine.cluster = '';
      machine.shard_metadata = {};
    });
  }

  delete(request: Mutation) {
    return this.#begin(request, DELETE, (machine) => {
      machine.host = undefined;
    });
  }

  get({ id }: { readonly id: string }): Machine {
    return this.#find(id);
  }

  /** Without cursors: ignores `since_revision` and returns no revision. */
  list({ states, max_results }: { readonly states: readonly number[]; readonly max_results: number }) {
    const all = [...this.#machines.values()];
    const wanted = states.length === 0 ? all : all.filter(({ state }) => states.includes(state));
    return { machines: max_results > 0 ? wanted.slice(0, max_results) : wanted };
  }

  /** All four calls check in this order: fence, existence, repeat, state. */
  #begin(
    request: Mutation,
    move: Move,
    atEnd: (machine: Machine) => void,
    atOnce: (machine: Machine) => void = () => {},
  ) {
    if (request.machine_id === '') throw new Refusal(status.INVALID_ARGUMENT, 'machine_id is empty');
    this.#admit(request);
    const machine = this.#find(request.machine_id);
    const last = this.#operations.get(machine.id);
    const isUnderWayOrDone = machine.state === move.through || machine.state === move.to;
    if (last?.move === move && isUnderWayOrDone) return { operation_id: last.id, machine };
    if (machine.state !== move.from) {
      // Any code but FAILED_PRECONDITION, which means a stale token and nothing else.
      throw new Refusal(status.ABORTED, `${machine.id} cannot ${move.name} in state ${machine.state}`);
    }
    const id = randomUUID();
    this.#operations.set(machine.id, { move, id });
    machine.state = move.through;
    atOnce(machine);
    setTimeout(() => {
      machine.state = move.to;
      atEnd(machine);
    }, this.#workMs);
    return { operation_id: id, machine: { ...machine } };
  }

  /** A token must be strictly newer than the mark. It then becomes the mark, even if the call fails later. */
  #admit({ machine_id, shard_id, shard_epoch, sequence_number }: Mutation): void {
    const epoch = BigInt(shard_epoch);
    const sequence = BigInt(sequence_number);
    if (shard_id === '' && epoch === 0n && sequence === 0n) return; // no token: a person with a tool, not a shard
    const key = JSON.stringify([shard_id, machine_id]);
    const mark = this.#marks.get(key);
    const isNewer =
      mark === undefined || epoch > mark.epoch || (epoch === mark.epoch && sequence > mark.sequence);
    if (!isNewer)
      throw new Refusal(status.FAILED_PRECONDITION, `not newer than (${mark.epoch}, ${mark.sequence})`);
    this.#marks.set(key, { epoch, sequence });
  }

  #find(id: string): Machine {
    if (id === '') throw new Refusal(status.INVALID_ARGUMENT, 'id is empty');
    const machine = this.#machines.get(id);
    if (machine === undefined) throw new Refusal(status.NOT_FOUND, `there is no machine ${id}`);
    return machine;
  }
}

function hostOf(id: string) {
  return { provider: 'minimal', ref: `host-of-${id}` };
}

/** Resolves when the server accepts calls. */
export async function serveMinimalProvider(address: string, workMs = 200) {
  const provider = new MinimalProvider(workMs);
  const protos = new URL(import.meta.url.endsWith('.ts') ? '../../proto' : '../../../proto', import.meta.url);
  const loaded = loadSync('bigfleet/v1alpha1/provider.proto', {
    includeDirs: [fileURLToPath(protos)],
    keepCase: true,
    longs: String,
    defaults: true,
  });
  const { service } = (loadPackageDefinition(loaded) as unknown as LoadedPackages).bigfleet.v1alpha1
    .CapacityProvider;
  // A listing of half a million machines far exceeds the default limit of 4 MB.
  const server = new Server({ 'grpc.max_send_message_length': -1 });
  server.addService(service, {
    Create: unary((request: Mutation) => provider.create(request)),
    Configure: unary((request: Configuration) => provider.configure(request)),
    Drain: unary((request: Mutation) => provider.drain(request)),
    Delete: unary((request: Mutation) => provider.delete(request)),
    Get: unary((request: { readonly id: string }) => provider.get(request)),
    List: unary((request: ListRequest) => provider.list(request)),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { port, close: () => server.forceShutdown() };
}

type ListRequest = Parameters<MinimalProvider['list']>[0];

interface LoadedPackages {
  readonly bigfleet: {
    readonly v1alpha1: { readonly CapacityProvider: { readonly service: ServiceDefinition } };
  };
}

function unary<Request, Response>(handle: (request: Request) => Response) {
  return (call: { readonly request: Request }, answer: sendUnaryData<Response>) => {
    let response: Response;
    try {
      response = handle(call.request);
    } catch (error) {
      const { code = status.INTERNAL, message } = error as Refusal;
      answer({ code, details: message });
      return;
    }
    answer(null, response);
  };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { port, close } = await serveMinimalProvider(process.argv[2] ?? '127.0.0.1:7790');
  console.log(`listening on port ${port}`);
  process.once('SIGINT', close);
  process.once('SIGTERM', close);
}
