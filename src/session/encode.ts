/** Encodes the shard's messages to an operator as ShardMessage bytes. */
import { formatQuantity } from '../base/quantity.ts';
import type { ResourceAmounts } from '../machine/machine.ts';
import type { Requirement } from '../needs/requirements.ts';
import type { CapacityHint, NodeState, ReclaimInstruction } from '../shard/ports/operators.ts';
import { encode } from '../wire/codec.ts';

export function encodeAck(echo: 'hello' | 'rollup', shardEpoch: number, coordinatorTerm: number): Buffer {
  return encode('ShardMessage', { ack: { echo, shardEpoch, coordinatorTerm } });
}

export function encodeBootstrapRequest(
  requestId: string,
  clusterId: string,
  requirements: readonly Requirement[],
): Buffer {
  return encode('ShardMessage', { bootstrapRequest: { requestId, clusterId, requirements } });
}

export function encodeReclaim(instruction: ReclaimInstruction): Buffer {
  const { instructionId, nodes, graceSeconds, preemptorPriority } = instruction;
  return encode('ShardMessage', {
    reclaimInstruction: { instructionId, nodes, gracePeriodSeconds: graceSeconds, preemptorPriority },
  });
}

export function encodeNode(node: NodeState): Buffer {
  const { machineId, clusterId, state, nodeName, providerId, lastError, labels } = node;
  return encode('ShardMessage', {
    nodeStateUpdate: {
      supersedesKey: `node:${machineId}`,
      machineId,
      clusterId,
      state,
      nodeName,
      providerId,
      lastError,
      labels,
      resources: { resources: quantities(node.resources) },
    },
  });
}

export function encodeHint(hint: CapacityHint): Buffer {
  return encode('ShardMessage', {
    availableCapacity: {
      supersedesKey: `available:${hint.fingerprint}`,
      requirements: hint.requirements,
      availableCount: hint.availableCount,
      confidence: hint.confidence,
      costPerHour: hint.costPerHourUsd,
    },
  });
}

/** V3: quantities in their canonical text, without zeros. */
export function quantities(amounts: ResourceAmounts): Record<string, string> {
  const texts: [string, string][] = [];
  for (const name of Object.keys(amounts)) {
    const units = amounts[name]!;
    if (units !== 0) texts.push([name, formatQuantity(name, units)]);
  }
  return Object.fromEntries(texts); // not assignment: a resource may be named __proto__
}
