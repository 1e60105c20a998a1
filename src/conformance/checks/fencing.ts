/**
 * The fence, tried on one CONFIGURED machine. The probe is a repeat of its Configure: a call that a right
 * provider answers without doing anything, so that only the token decides what comes back.
 */
import type { Check } from '../check.ts';
import type { AckReply } from '../client.ts';
import { requireFenced, requirePassed } from '../expect.ts';
import type { ConfiguredMachine } from '../machine-pool.ts';
import type { Rig } from '../rig.ts';
import { describeToken, type FencedShard, type Token } from '../token.ts';

/** Where the marks of these checks stand: high enough to have older epochs and sequences below. */
const EPOCH = 5;
const SEQUENCE = 10;
const INT64_MAX = 2n ** 63n - 1n;

/** Sends probes to one machine and says what the fence must do with each. */
class Prober {
  readonly #rig: Rig;
  readonly #machine: ConfiguredMachine;

  constructor(rig: Rig, machine: ConfiguredMachine) {
    this.#rig = rig;
    this.#machine = machine;
  }

  get id(): string {
    return this.#machine.id;
  }

  send(token: Token): Promise<AckReply> {
    return this.#rig.driver.send('Configure', this.#machine.id, { token, binding: this.#machine.binding });
  }

  async passes(token: Token, because: string): Promise<void> {
    requirePassed(
      await this.send(token),
      `a call with ${describeToken(token)}, ${because},`,
      `accept it: ${because}`,
    );
  }

  async isFenced(token: Token, because: string): Promise<void> {
    requireFenced(await this.send(token), `a call with ${describeToken(token)}, ${because}`);
  }
}

function fenceCheck(
  id: string,
  contract: string,
  run: (probe: Prober, shard: FencedShard, rig: Rig) => Promise<void>,
): Check {
  return {
    id,
    contract,
    async run(rig) {
      const machine = await rig.pool.configured();
      await run(new Prober(rig, machine), rig.driver.newShard(), rig);
      return undefined;
    },
  };
}

const MARK_IS_SET = 'the first contact of this shard with this machine';

export const FENCING_CHECKS: readonly Check[] = [
  fenceCheck('fencing/first-contact', 'A first contact is accepted.', async (probe, shard) => {
    await probe.passes(shard.token(1, 1), MARK_IS_SET);
  }),
  fenceCheck(
    'fencing/next-sequence',
    'A newer sequence passes, with or without a gap.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'the next in the sequence');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1_000), 'newer, after a gap');
    },
  ),
  fenceCheck(
    'fencing/stale-epoch',
    'An older epoch is refused, whatever its sequence.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.isFenced(shard.token(EPOCH - 1, SEQUENCE + 1), `after epoch ${EPOCH} was seen`);
    },
  ),
  fenceCheck(
    'fencing/stale-sequence',
    'An older sequence of the same epoch is refused.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE - 1), `after sequence ${SEQUENCE} was seen`);
    },
  ),
  fenceCheck(
    'fencing/equal-token',
    'A token must be strictly newer: an equal one is refused.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same as the one before');
    },
  ),
  fenceCheck(
    'fencing/new-epoch',
    'A new epoch restarts the sequence space, and the old one is over.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.passes(shard.token(EPOCH + 1, 1), 'the first of a new epoch');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE + 1), `after epoch ${EPOCH + 1} was seen`);
      await probe.passes(shard.token(EPOCH + 1, 2), 'the second of the new epoch');
    },
  ),
  fenceCheck(
    'fencing/refusal-keeps-mark',
    'A refused token leaves the mark where it was.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.isFenced(shard.token(EPOCH - 1, SEQUENCE + 90), 'of an older epoch');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE - 1), 'of an older sequence');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'equal to the mark, after two refusals');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'newer than the mark, after three refusals');
    },
  ),
  fenceCheck('fencing/beyond-32-bits', 'Epoch and sequence are not 32-bit numbers.', async (probe, shard) => {
    await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
    await probe.passes(shard.token(EPOCH, 2 ** 32 + 1), 'newer, and beyond 32 bits');
    await probe.isFenced(shard.token(EPOCH, 2 ** 32), 'older by one, beyond 32 bits');
    await probe.passes(shard.token(2 ** 40, 1), 'of an epoch beyond 32 bits');
    await probe.isFenced(shard.token(2 ** 40 - 1, 2 ** 40), 'of the epoch before');
  }),
  fenceCheck('fencing/64-bits', 'Epoch and sequence are compared in all 64 bits.', async (probe, shard) => {
    await probe.passes(shard.token(EPOCH, INT64_MAX - 1n), MARK_IS_SET);
    await probe.passes(shard.token(EPOCH, INT64_MAX), 'the largest sequence');
    await probe.isFenced(shard.token(EPOCH, INT64_MAX - 1n), 'one below the largest sequence');
    await probe.passes(
      shard.token(2n ** 60n + 1n, 1),
      'of an epoch that a double cannot tell from the one before',
    );
    await probe.isFenced(shard.token(2n ** 60n, 2), 'of the epoch before');
  }),
  fenceCheck('fencing/per-machine', 'Marks are kept per machine.', async (probe, shard, rig) => {
    const other = new Prober(rig, await rig.pool.configured());
    await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
    await other.passes(shard.token(EPOCH, 1), 'the first contact with another machine');
    await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same as before on this machine');
    await other.passes(shard.token(EPOCH, 2), 'newer on the other machine');
  }),
  fenceCheck('fencing/per-shard', 'Marks are kept per shard.', async (probe, shard, rig) => {
    const other = rig.driver.newShard();
    await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
    await probe.passes(other.token(1, 1), 'the first contact of another shard');
    await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same as before of the first shard');
    await probe.isFenced(other.token(1, 1), 'the same as before of the other shard');
  }),
  fenceCheck(
    'fencing/one-mark',
    'The mark is of (shard, machine), not of the call: a token used for one call is stale for all.',
    async (probe, shard, { driver }) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      const token = shard.token(EPOCH, SEQUENCE);
      requireFenced(
        await driver.send('Drain', probe.id, { token }),
        `Drain with the token of the last Configure`,
      );
      requireFenced(
        await driver.send('Create', probe.id, { token }),
        `Create with the token of the last Configure`,
      );
    },
  ),
  fenceCheck(
    'fencing/mark-advances-on-failure',
    'A token that passes advances the mark even if the call then fails.',
    async (probe, shard, { driver }) => {
      const token = shard.token(EPOCH, SEQUENCE);
      requirePassed(
        await driver.send('Create', probe.id, { token }),
        'Create of a CONFIGURED machine with a first token',
        'refuse what does not fit the state with another code',
      );
      await probe.isFenced(token, 'which a failed Create has used');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'newer than the failed Create');
    },
  ),
  {
    id: 'fencing/before-idempotency',
    contract: 'The fence comes before idempotency: a repeat with a used token is refused, not recognised.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const shard = driver.newShard();
      const token = shard.token(EPOCH, SEQUENCE);
      const binding = { cluster: 'conformance-repeat', shardMetadata: { repeat: 'yes' } };
      await driver.perform('Configure', id, { token, binding });
      requireFenced(
        await driver.send('Configure', id, { token, binding }),
        'an exact repeat of a successful call, token included',
        'check the token first; only then look whether the call is a repeat',
      );
      await driver.perform('Drain', id, { token: shard.token(EPOCH, SEQUENCE + 1) });
      return undefined;
    },
  },
  fenceCheck(
    'fencing/reads',
    'Reads carry no token and are never fenced.',
    async (probe, shard, { driver }) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), MARK_IS_SET);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same as the one before');
      await driver.get(probe.id);
      await driver.list({ maxResults: 1 });
    },
  ),
];
