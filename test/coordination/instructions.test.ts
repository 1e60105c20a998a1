import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Instructions } from '../../src/coordination/instructions.ts';
import {
  ACKS_PER_REPORT_MAX,
  DOMAINS_MAX,
  ID_BYTES_MAX,
  REMEMBERED_IDS_MAX,
  TOPOLOGY_BYTES_MAX,
  WAITING_ACKS_MAX,
} from '../../src/coordination/limits.ts';
import { decode, encode } from '../../src/wire/codec.ts';
import {
  type CoordinatorInstruction,
  type CoordinatorInstructionInit,
  InstructAckOutcome as Outcome,
} from '../../src/wire/protocol.generated.ts';

/** An instruction as it arrives. */
function instruction(init: CoordinatorInstructionInit): CoordinatorInstruction {
  return decode('CoordinatorInstruction', encode('CoordinatorInstruction', init));
}

function assign(
  instructionId: string,
  coordinatorTerm: number,
  topologyValue = 'r1',
): CoordinatorInstruction {
  return instruction({
    instructionId,
    coordinatorTerm,
    assignDomain: { topologyKey: 'rack', topologyValue },
  });
}

function unassign(
  instructionId: string,
  coordinatorTerm: number,
  topologyValue = 'r1',
): CoordinatorInstruction {
  return instruction({
    instructionId,
    coordinatorTerm,
    unassignDomain: { topologyKey: 'rack', topologyValue },
  });
}

const racks = (instructions: Instructions) =>
  instructions.domains.list().map(({ topologyValue }) => topologyValue);

describe('K1: instructions', () => {
  it('assign and unassign domains, which are listed with their term and time', () => {
    const instructions = new Instructions();
    expect(instructions.receive(assign('a', 3, 'r1'), 1_000)).toEqual({
      instructionId: 'a',
      outcome: Outcome.OUTCOME_ACCEPTED,
      reason: '',
    });
    instructions.receive(assign('b', 3, 'r2'), 2_000);
    expect(instructions.domains.list()).toEqual([
      { topologyKey: 'rack', topologyValue: 'r1', term: 3, sinceMs: 1_000 },
      { topologyKey: 'rack', topologyValue: 'r2', term: 3, sinceMs: 2_000 },
    ]);
    instructions.receive(unassign('c', 3, 'r1'), 3_000);
    expect(racks(instructions)).toEqual(['r2']);
    expect(instructions.receive(unassign('d', 3, 'never'), 0)?.outcome).toBe(Outcome.OUTCOME_ACCEPTED);
  });

  it('of a lower term than the highest seen are stale and not executed', () => {
    const instructions = new Instructions();
    instructions.seeTerm(5);
    expect(instructions.receive(assign('a', 4), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_REJECTED_STALE,
    });
    instructions.receive(assign('b', 9, 'r9'), 0);
    expect(instructions.receive(assign('c', 8), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_REJECTED_STALE,
      reason: 'term 8 is stale: the shard has seen term 9',
    });
    expect(instructions.receive(assign('d', 9, 'r10'), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_ACCEPTED,
    });
    expect(racks(instructions)).toEqual(['r9', 'r10']);
    instructions.seeTerm(2);
    expect(instructions.highestTerm).toBe(9);
  });

  it('that were stale are executed when the current leader sends them under the same id', () => {
    const instructions = new Instructions();
    instructions.seeTerm(5);
    instructions.receive(assign('a', 4), 0);
    const [stale] = instructions.acksToSend();
    expect(instructions.receive(assign('a', 5), 0)).toMatchObject({ outcome: Outcome.OUTCOME_ACCEPTED });
    instructions.delivered([stale!]); // the report with the old ack is acknowledged late: the new ack still waits
    expect(instructions.acksToSend()).toEqual([
      { instructionId: 'a', outcome: Outcome.OUTCOME_ACCEPTED, reason: '' },
    ]);
  });

  it('are executed once: a repeat in any term gets the outcome of the first time', () => {
    const instructions = new Instructions();
    instructions.receive(assign('a', 5), 0);
    instructions.receive(unassign('b', 5), 0);
    instructions.delivered(instructions.acksToSend());
    for (const term of [5, 6, 4]) {
      expect(instructions.receive(assign('a', term), 0)).toMatchObject({ outcome: Outcome.OUTCOME_ACCEPTED });
    }
    expect(racks(instructions)).toEqual([]);
    expect(instructions.acksToSend()).toHaveLength(1);
    expect(instructions.counts).toMatchObject({ accepted: 2, repeated: 3 });
  });

  for (const [what, payload] of [
    ['ReassignSpeculative', { reassignSpeculative: { machineIds: ['m'] } }],
    ['CrossShardDrain', { crossShardDrain: { machineIds: ['m'], preemptorPriority: 5 } }],
    ['TransferOwnership', { transferOwnership: { machineIds: ['m'], fromShardId: 'a', toShardId: 'b' } }],
  ] as const) {
    it(`K1: that the shard does not carry out are accepted, say so, and change nothing: ${what}`, () => {
      const instructions = new Instructions();
      const ack = instructions.receive(instruction({ instructionId: 'a', ...payload }), 0);
      expect(ack?.outcome).toBe(Outcome.OUTCOME_ACCEPTED);
      expect(ack?.reason).toContain(`${what} is acknowledged; this shard does not carry it out`);
      expect(instructions.domains.count).toBe(0);
    });
  }

  for (const [what, payload] of [
    ['without a known payload', {}],
    ['key and a value', { assignDomain: { topologyKey: '', topologyValue: 'x' } }],
    ['key and a value', { unassignDomain: { topologyKey: 'x', topologyValue: '' } }],
    ['bytes', { assignDomain: { topologyKey: 'k', topologyValue: 'v'.repeat(TOPOLOGY_BYTES_MAX + 1) } }],
  ] as const) {
    it(`are rejected as invalid with a reason: ${JSON.stringify(payload).slice(0, 60)}`, () => {
      const instructions = new Instructions();
      const ack = instructions.receive(instruction({ instructionId: 'a', ...payload }), 0);
      expect(ack?.outcome).toBe(Outcome.OUTCOME_REJECTED_INVALID);
      expect(ack?.reason).toContain(what);
      expect(instructions.domains.count).toBe(0);
    });
  }

  it('without an id, or with one that is too long, are counted and neither executed nor acked', () => {
    const instructions = new Instructions();
    expect(instructions.receive(assign('', 1), 0)).toBeNull();
    expect(instructions.receive(assign('é'.repeat(ID_BYTES_MAX / 2 + 1), 1), 0)).toBeNull();
    expect(instructions.receive(assign('x'.repeat(ID_BYTES_MAX), 1), 0)).not.toBeNull();
    expect(instructions.counts).toMatchObject({ unusable: 2, accepted: 1 });
  });

  it('keep no more than their limits, and drop the oldest', () => {
    const instructions = new Instructions();
    const count = WAITING_ACKS_MAX + 5;
    for (let index = 0; index < count; index++) instructions.receive(assign(`i-${index}`, 1, 'r'), 0);
    expect(instructions.waitingCount).toBe(WAITING_ACKS_MAX);
    expect(instructions.rememberedCount).toBe(REMEMBERED_IDS_MAX);
    expect(instructions.counts.acksDropped).toBe(5);
    const acks = instructions.acksToSend();
    expect(acks).toHaveLength(ACKS_PER_REPORT_MAX);
    expect(acks[0]!.instructionId).toBe('i-5');
    instructions.delivered(acks);
    expect(instructions.acksToSend()[0]!.instructionId).toBe(`i-${ACKS_PER_REPORT_MAX + 5}`);
  });

  it('fail when the domain record is full, and succeed once there is room', () => {
    const instructions = new Instructions();
    for (let index = 0; index < DOMAINS_MAX; index++)
      instructions.receive(assign(`i-${index}`, 1, `r${index}`), 0);
    expect(instructions.receive(assign('more', 1, 'more'), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_FAILED,
    });
    expect(instructions.receive(assign('again', 1, 'r7'), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_ACCEPTED,
    });
    instructions.receive(unassign('less', 1, 'r7'), 0);
    expect(instructions.receive(assign('now', 1, 'more'), 0)).toMatchObject({
      outcome: Outcome.OUTCOME_ACCEPTED,
    });
    expect(instructions.domains.count).toBe(DOMAINS_MAX);
  });

  it('agree with the model in any order and with any number of lost answers', () => {
    const seen = { stale: 0, repeated: 0, revived: 0, redelivered: 0 };
    const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('instruct' as const),
        id,
        termStep: fc.constantFrom(0, 0, 0, 1, -1, -2),
      }),
      fc.record({ kind: fc.constant('report' as const), isLost: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const instructions = new Instructions();
        const executed = new Set<string>();
        const staleOnce = new Set<string>();
        const toldLast = new Map<string, number>(); // what the coordinator believes
        const owed = new Map<string, number>();
        let highest = 0;
        for (const [at, one] of steps.entries()) {
          if (one.kind === 'report') {
            const acks = instructions.acksToSend();
            expect(new Map(acks.map((ack) => [ack.instructionId, ack.outcome]))).toEqual(owed);
            if (one.isLost) {
              if (acks.length > 0) seen.redelivered++;
              continue;
            }
            for (const ack of acks) toldLast.set(ack.instructionId, ack.outcome);
            instructions.delivered(acks);
            owed.clear();
            continue;
          }
          const term = Math.max(1, highest + one.termStep);
          highest = Math.max(highest, term);
          instructions.receive(assign(one.id, term, `${one.id}-${at}`), at);
          if (executed.has(one.id)) seen.repeated++;
          else if (term < highest) {
            staleOnce.add(one.id);
            seen.stale++;
          } else {
            if (staleOnce.has(one.id)) seen.revived++;
            executed.add(one.id);
          }
          const outcome = executed.has(one.id) ? Outcome.OUTCOME_ACCEPTED : Outcome.OUTCOME_REJECTED_STALE;
          owed.set(one.id, outcome);
        }
        instructions.delivered(instructions.acksToSend());
        for (const [told, outcome] of [...toldLast, ...owed]) {
          if (outcome === Outcome.OUTCOME_ACCEPTED) expect(executed).toContain(told);
        }
        // Each was executed once: under each id exactly one value was recorded.
        expect(
          racks(instructions)
            .map((rack) => rack[0])
            .sort(),
        ).toEqual([...executed].sort());
      }),
      { numRuns: 300 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(50);
  });
});
