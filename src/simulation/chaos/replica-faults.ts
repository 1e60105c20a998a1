/**
 * Faults of two replicas and their etcd. Demand is constant, so no replica may take a machine from a cluster: the campaign
 * reads the audit logs of both. A removal by a replica that was not confirmed would be one of these.
 */
import type { Fault } from './faults.ts';
import { etcdAwayUnderLoad } from './outage-fault.ts';
import { FAULT_MS } from './process-faults.ts';
import { pause } from './programs.ts';
import { LEASE_MS, type Replica, ReplicaStage } from './replica-stage.ts';

type Inject = (stage: ReplicaStage) => Promise<string>;

/** Long enough for a lease to expire and another replica to be confirmed. */
const PAST_LEASE_MS = 3 * LEASE_MS;

function onReplicas(name: string, when: Fault['when'], inject: Inject): Fault {
  return {
    name: `replicas: ${name}`,
    when,
    stage: () => new ReplicaStage(),
    inject: (stage) => inject(stage as ReplicaStage),
  };
}

async function killActive(stage: ReplicaStage): Promise<Replica> {
  const active = await stage.active();
  await active.program!.kill();
  return stage.takeoverFrom(active);
}

/** Stops the replica until another one is active, then wakes it. */
async function stopActive(stage: ReplicaStage): Promise<string> {
  const active = await stage.active();
  const { program } = active;
  program!.signal('SIGSTOP');
  const other = await stage.takeoverFrom(active);
  program!.signal('SIGCONT');
  const code = await program!.exited;
  if (code !== 75) throw new Error(`the woken replica ended with ${code}, not with 75`);
  return `${other.name} took over; the woken replica exited with 75`;
}

function cutOff(of: 'active' | 'standby', kind: 'reset' | 'silent'): Inject {
  return async (stage) => {
    const replica = await stage[of]();
    replica.reachEtcd({ kind });
    if (of === 'active') await stage.takeoverFrom(replica);
    else await pause(FAULT_MS);
    replica.reachEtcd({ kind: 'pass' });
    return of === 'active' ? 'the other replica took over' : 'the active replica stayed';
  };
}

/** Takes members of etcd away, and brings them back after a few leases. */
function withoutMembers(count: number, how: 'killed' | 'stopped'): Inject {
  return async (stage) => {
    const members = stage.etcd.slice(0, count);
    for (const member of members) {
      if (how === 'killed') await member.kill();
      else member.pause();
    }
    await pause(PAST_LEASE_MS);
    const role = await (await stage.active()).role();
    // Together: a member serves clients only once most of them run.
    if (how === 'killed') await Promise.all(members.map((member) => member.resume()));
    else for (const member of members) member.unpause();
    const isQuorate = 2 * count < stage.etcd.length;
    if (!isQuorate && role !== 'adrift')
      throw new Error(`a replica without a directory is ${role}, not adrift`);
    return `the active replica was ${role} meanwhile`;
  };
}

export const REPLICA_FAULTS: readonly Fault[] = [
  onReplicas('active killed (-9)', 'burst', async (stage) => `${(await killActive(stage)).name} took over`),
  onReplicas('each active replica killed (-9) in turn', 'burst', async (stage) => {
    await killActive(stage);
    await stage.standby();
    return `${(await killActive(stage)).name} took over last`;
  }),
  onReplicas('both killed (-9) at once', 'burst', async (stage) => {
    for (const { program } of stage.replicas) await program!.kill();
    return `${(await stage.active()).name} is active again`;
  }),
  onReplicas('active stopped, then woken', 'burst', stopActive),
  onReplicas('active hands over (SIGTERM)', 'burst', async (stage) => {
    const active = await stage.active();
    active.program!.signal('SIGTERM');
    return `${(await stage.takeoverFrom(active)).name} took over`;
  }),
  onReplicas('active cut off from etcd, silently', 'burst', cutOff('active', 'silent')),
  onReplicas('active cut off from etcd, by resets', 'burst', cutOff('active', 'reset')),
  onReplicas('standby killed (-9)', 'burst', async (stage) => {
    await (await stage.standby()).program!.kill();
    await pause(FAULT_MS);
    return `${(await stage.active()).name} stayed active`;
  }),
  onReplicas('standby stopped, then woken', 'burst', async (stage) => {
    const { program } = await stage.standby();
    program!.signal('SIGSTOP');
    await pause(PAST_LEASE_MS);
    program!.signal('SIGCONT');
    return `${(await stage.active()).name} stayed active`;
  }),
  onReplicas('standby cut off from etcd', 'burst', cutOff('standby', 'silent')),
  onReplicas('standby cut off from the active replica', 'burst', async (stage) => {
    const { peer } = await stage.active();
    peer.be({ kind: 'silent' });
    await pause(FAULT_MS);
    peer.be({ kind: 'pass' });
    return 'the standby was not ready, and its operators went to the active replica';
  }),
  onReplicas('one member of etcd killed', 'burst', withoutMembers(1, 'killed')),
  onReplicas('one member of etcd stopped', 'burst', withoutMembers(1, 'stopped')),
  onReplicas('two members of etcd stopped', 'burst', withoutMembers(2, 'stopped')),
  onReplicas('all members of etcd killed', 'burst', withoutMembers(3, 'killed')),
  etcdAwayUnderLoad(),
];
