/**
 * The smallest operator: one cluster that asks for machines, answers bootstrap requests, and prints what the shard reports. A
 * real operator adds up its pending pods, answers with the kubelet's bootstrap configuration and creates Node objects; on the
 * wire it does the same. docs/getting-started.md runs it.
 *
 * It needs only @grpc/grpc-js, @grpc/proto-loader and the folder proto/ of this repository.
 */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type ClientDuplexStream, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** The operator repeats its roll-up, so that a lost one does no harm. The shard decodes only changed rows. */
const ROLLUP_EVERY_MS = 10_000;
const RECONNECT_AFTER_MS = 1_000;

export interface OperatorOptions {
  readonly shard: string;
  readonly clusterId: string;
  /** Cores that the cluster needs, in machines with at least `coresEach`. */
  readonly cores: number;
  readonly coresEach: number;
  readonly print: (line: string) => void;
}

/** One field is set. The shard also sends hints of available capacity, which an operator may ignore. */
interface ShardMessage {
  readonly ack?: { readonly echo: string; readonly shard_epoch: string };
  readonly bootstrap_request?: { readonly request_id: string };
  readonly reclaim_instruction?: {
    readonly instruction_id: string;
    readonly nodes: readonly string[];
    readonly grace_period_seconds: string;
  };
  readonly node_state_update?: {
    readonly machine_id: string;
    readonly state: string;
    readonly last_error: string;
  };
}

type Session = ClientDuplexStream<object, ShardMessage>;

/** Returns a function that ends the operator. */
export function runMinimalOperator(options: OperatorOptions): () => void {
  const { clusterId, print } = options;
  const client = clientOf(options.shard);
  let session: Session;
  let isClosed = false;

  const rollUp = () => session.write({ rollup: { cluster_id: clusterId, needs: [needOf(options)] } });
  const connect = () => {
    session = client.Session();
    session.on('data', (message: ShardMessage) => answer(message));
    session.on('error', () => {}); // the status event has the reason
    session.on('status', ({ details }: { readonly details: string }) => {
      if (isClosed) return;
      print(`session ended: ${details}`);
      setTimeout(connect, RECONNECT_AFTER_MS);
    });
    session.write({ hello: { cluster_id: clusterId } }); // must be the first frame
    rollUp();
  };
  const answer = (message: ShardMessage) => {
    if (message.bootstrap_request !== undefined) {
      const { request_id } = message.bootstrap_request;
      const user_data = Buffer.from('#cloud-config: join the cluster');
      session.write({ bootstrap_response: { request_id, user_data, ttl_seconds: 600 } });
    } else if (message.reclaim_instruction !== undefined) {
      const { instruction_id, nodes, grace_period_seconds } = message.reclaim_instruction;
      print(`drain ${nodes.join(', ')} within ${grace_period_seconds} s`);
      session.write({ reclaim_ack: { instruction_id, nodes_started: nodes.length } });
    } else if (message.node_state_update !== undefined) {
      const { machine_id, state, last_error } = message.node_state_update;
      print([machine_id, state.replace('MACHINE_STATE_', ''), last_error].join(' ').trimEnd());
    } else if (message.ack?.echo === 'hello') {
      print(`connected to epoch ${message.ack.shard_epoch} of the shard`);
    }
  };

  connect();
  const timer = setInterval(rollUp, ROLLUP_EVERY_MS);
  return () => {
    isClosed = true;
    clearInterval(timer);
    session.cancel();
    client.close();
  };
}

/** The complete demand of the cluster: the shard takes back machines for rows that are missing. */
function needOf({ cores, coresEach }: OperatorOptions): object {
  return {
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'OPERATOR_EXISTS' }],
    aggregate_resources: { cpu: `${cores}` },
    min_unit: { cpu: `${coresEach}` },
    priority: 1_000,
    interruption_penalty_bucket: 'PENALTY_BUCKET_16',
    reclamation_penalty_bucket: 'PENALTY_BUCKET_4',
  };
}

interface Client {
  Session(): Session;
  close(): void;
}

function clientOf(shard: string): Client {
  const protos = new URL(import.meta.url.endsWith('.ts') ? '../../proto' : '../../../proto', import.meta.url);
  const loaded = loadSync('bigfleet/v1alpha1/shard.proto', {
    includeDirs: [fileURLToPath(protos)],
    keepCase: true,
    longs: String,
    enums: String,
    oneofs: false,
  });
  const { Shard } = (
    loadPackageDefinition(loaded) as unknown as {
      readonly bigfleet: {
        readonly v1alpha1: { readonly Shard: new (address: string, channel: object) => Client };
      };
    }
  ).bigfleet.v1alpha1;
  return new Shard(shard, credentials.createInsecure());
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [shard = '127.0.0.1:7780', clusterId = 'my-cluster', machines = '3'] = process.argv.slice(2);
  const end = runMinimalOperator({
    shard,
    clusterId,
    cores: 16 * Number(machines),
    coresEach: 16,
    print: (line) => console.log(line),
  });
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
}
