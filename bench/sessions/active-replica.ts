/** The active replica of the relay benchmark: the operators' server over the real tables of a realistic fleet, in a process of its own. */
import { startOperatorServer } from '../../src/session/server.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { BenchShard, boundCount } from './shard.ts';

/** What the program sends its parent when it listens. */
export interface Listening {
  readonly address: string;
  readonly clusters: number;
  /** Machines that the clusters hear of after Hello. */
  readonly bound: number;
}

const fleet = new SteadyFleet(Number(process.argv[2]));
const shard = new BenchShard(fleet);
const bound = boundCount(fleet, shard);
const server = await startOperatorServer({
  listen: '127.0.0.1:0',
  deadPeerMs: 600_000, // on a busy machine a process may be silent for longer than any real peer
  shard,
  needs: { inspectNeeds: () => Promise.reject(new Error('not here')) },
});
process.on('disconnect', () => process.exit(0));
process.send!({ address: server.address, clusters: fleet.clusterCount, bound } satisfies Listening);
