/** An operator of the kit with the shard's own session server, over gRPC. It keeps everything that its handlers receive. */

import type { ShardError } from '../../src/base/errors.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import type { MachineState } from '../../src/machine/state.ts';
import type { Need } from '../../src/needs/need.ts';
import { ClusterOperator } from '../../src/operator-kit/cluster-operator.ts';
import type {
  BootstrapRequest,
  ClusterOperatorOptions,
  Node,
  Reclaim,
  SessionInfo,
} from '../../src/operator-kit/options.ts';
import { closeAfterwards } from '../session/rig.ts';

export interface Kept {
  readonly operator: ClusterOperator;
  readonly nodes: Node[];
  readonly requests: BootstrapRequest[];
  readonly reclaims: Reclaim[];
  readonly sessions: SessionInfo[];
  readonly endings: ShardError[];
  readonly errors: ShardError[];
}

/** Fast: a test waits for events, never for an interval. */
const FAST = {
  reconnect: { initialMs: 5, maxMs: 50 },
  rollup: { intervalMs: 60_000, paceMs: 5, ackTimeoutMs: 60_000 },
} as const;

/** The handlers of the options are called after everything is kept. */
export function operatorOf(shard: string, options: Partial<ClusterOperatorOptions> = {}): Kept {
  const kept = {
    nodes: [] as Node[],
    requests: [] as BootstrapRequest[],
    reclaims: [] as Reclaim[],
    sessions: [] as SessionInfo[],
    endings: [] as ShardError[],
    errors: [] as ShardError[],
  };
  const operator = new ClusterOperator({
    shard,
    clusterId: 'blue',
    ...options,
    reconnect: { ...FAST.reconnect, ...options.reconnect },
    rollup: { ...FAST.rollup, ...options.rollup },
    bootstrap: (request) => {
      kept.requests.push(request);
      return options.bootstrap?.(request) ?? `joins for ${request.requestId}`;
    },
    onNode: (node) => {
      kept.nodes.push(node);
      return options.onNode?.(node);
    },
    onReclaim: (reclaim) => {
      kept.reclaims.push(reclaim);
      return options.onReclaim?.(reclaim) as Promise<void>;
    },
    onConnected: (session) => kept.sessions.push(session),
    onDisconnected: (error) => kept.endings.push(error),
    onError: (error) => kept.errors.push(error),
  });
  closeAfterwards(() => operator.close());
  return { operator, ...kept };
}

export function need(group: string): Need {
  return { aggregate: { cpu: '16', memory: '32Gi' }, minUnit: { cpu: '8' }, priority: 100, group };
}

export function machine(id: string, state: MachineState, cluster = 'blue'): Machine {
  return {
    id,
    state,
    host: { provider: 'rack-a', ref: `host-of-${id}` },
    instanceType: 'general-16',
    zone: 'zone-a',
    capacityType: CapacityType.OnDemand,
    pricePerHourUsd: 0.8,
    interruptionProbability: 0,
    capacity: { cpu: 16_000 },
    labels: { pool: 'general' },
    lastError: '',
    cluster,
    assignment: null,
  };
}

/** A promise that a test settles. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
