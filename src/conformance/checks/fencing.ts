/**
 * The fence, tested on one CONFIGURED machine. The probe repeats its Configure: a conforming provider
 * answers that without any change, so only the token decides about the answer.
 */
import type { Check } from '../check.ts';
import type { AckReply } from '../client.ts';
import { requireFenced, requirePassed } from '../expect.ts';
import type { ConfiguredMachine } from '../machine-pool.ts';
import type { Rig } from '../rig.ts';
import { describeToken, type FencedShard, type Token } from '../token.ts';

/** The marks of these checks, high enough for older epochs and sequences below them. */
const EPOCH = 5;
const SEQUENCE = 10;
const INT64_MAX = 2n ** 63n - 1n;

/** Sends probes to one machine and requires that the fence accepts or refuses each. */
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
      `accept this token: it is ${because}`,
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

const FIRST_TOKEN = 'the first token of this shard for this machine';

export const FENCING_CHECKS: readonly Check[] = [
  fenceCheck(
    'fencing/first-contact',
    'The provider accepts the first token of a shard for a machine.',
    async (probe, shard) => {
      await probe.passes(shard.token(1, 1), FIRST_TOKEN);
    },
  ),
  fenceCheck(
    'fencing/next-sequence',
    'The provider accepts a newer sequence, with or without a gap.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'the next in sequence');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1_000), 'newer, after a gap');
    },
  ),
  fenceCheck(
    'fencing/stale-epoch',
    'The provider refuses a token with an older epoch, whatever its sequence.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.isFenced(shard.token(EPOCH - 1, SEQUENCE + 1), `after a call with epoch ${EPOCH}`);
    },
  ),
  fenceCheck(
    'fencing/stale-sequence',
    'The provider refuses a token with an older sequence of the same epoch.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE - 1), `after a call with sequence ${SEQUENCE}`);
    },
  ),
  fenceCheck(
    'fencing/equal-token',
    'A token must be strictly newer: the provider refuses an equal one.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same token as the call before');
    },
  ),
  fenceCheck(
    'fencing/new-epoch',
    'A new epoch restarts the sequence, and the provider refuses tokens of the old epoch.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.passes(shard.token(EPOCH + 1, 1), 'the first of a new epoch');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE + 1), `after a call with epoch ${EPOCH + 1}`);
      await probe.passes(shard.token(EPOCH + 1, 2), 'the second of the new epoch');
    },
  ),
  fenceCheck(
    'fencing/refusal-keeps-mark',
    'A refused token does not change the mark, the highest token accepted.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.isFenced(shard.token(EPOCH - 1, SEQUENCE + 90), 'of an older epoch');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE - 1), 'of an older sequence');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'equal to the mark, after two refusals');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'newer than the mark, after three refusals');
    },
  ),
  fenceCheck('fencing/beyond-32-bits', 'Epoch and sequence may exceed 32 bits.', async (probe, shard) => {
    await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
    await probe.passes(shard.token(EPOCH, 2 ** 32 + 1), 'newer, and beyond 32 bits');
    await probe.isFenced(shard.token(EPOCH, 2 ** 32), 'older by one, beyond 32 bits');
    await probe.passes(shard.token(2 ** 40, 1), 'of an epoch beyond 32 bits');
    await probe.isFenced(shard.token(2 ** 40 - 1, 2 ** 40), 'of the epoch before');
  }),
  fenceCheck(
    'fencing/64-bits',
    'The provider compares all 64 bits of epoch and sequence.',
    async (probe, shard) => {
      await probe.passes(shard.token(EPOCH, INT64_MAX - 1n), FIRST_TOKEN);
      await probe.passes(shard.token(EPOCH, INT64_MAX), 'the largest sequence');
      await probe.isFenced(shard.token(EPOCH, INT64_MAX - 1n), 'one below the largest sequence');
      await probe.passes(
        shard.token(2n ** 60n + 1n, 1),
        'of an epoch that a double-precision number cannot distinguish from the one before',
      );
      await probe.isFenced(shard.token(2n ** 60n, 2), 'of the epoch before');
    },
  ),
  fenceCheck(
    'fencing/per-machine',
    'The provider keeps a mark for each machine.',
    async (probe, shard, rig) => {
      const other = new Prober(rig, await rig.pool.configured());
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await other.passes(shard.token(EPOCH, 1), 'the first token of this shard for another machine');
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'which this machine has already seen');
      await other.passes(shard.token(EPOCH, 2), 'newer on the other machine');
    },
  ),
  fenceCheck('fencing/per-shard', 'The provider keeps a mark for each shard.', async (probe, shard, rig) => {
    const other = rig.driver.newShard();
    await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
    await probe.passes(other.token(1, 1), 'the first token of another shard for this machine');
    await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'which the first shard has already used');
    await probe.isFenced(other.token(1, 1), 'which the other shard has already used');
  }),
  fenceCheck(
    'fencing/one-mark',
    'A mark belongs to (shard, machine), not to a kind of call: a token used for one call is stale for all.',
    async (probe, shard, { driver }) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
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
    'A token that passes the fence advances the mark even if the call then fails.',
    async (probe, shard, { driver }) => {
      const token = shard.token(EPOCH, SEQUENCE);
      requirePassed(
        await driver.send('Create', probe.id, { token }),
        "Create of a CONFIGURED machine with the shard's first token",
        'refuse a call that the state does not allow with another code',
      );
      await probe.isFenced(token, 'which a failed Create has already used');
      await probe.passes(shard.token(EPOCH, SEQUENCE + 1), 'newer than the token of the failed Create');
    },
  ),
  {
    id: 'fencing/before-idempotency',
    contract:
      'The provider checks the token before it looks for a repeat: it refuses a repeated call with a used token.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const shard = driver.newShard();
      const token = shard.token(EPOCH, SEQUENCE);
      const binding = { cluster: 'conformance-repeat', shardMetadata: { repeat: 'yes' } };
      await driver.perform('Configure', id, { token, binding });
      requireFenced(
        await driver.send('Configure', id, { token, binding }),
        'an exact repeat of a successful call, token included',
        'check the token first, and only then whether the call is a repeat',
      );
      await driver.perform('Drain', id, { token: shard.token(EPOCH, SEQUENCE + 1) });
      return undefined;
    },
  },
  fenceCheck(
    'fencing/reads',
    'Reads carry no token and are never fenced.',
    async (probe, shard, { driver }) => {
      await probe.passes(shard.token(EPOCH, SEQUENCE), FIRST_TOKEN);
      await probe.isFenced(shard.token(EPOCH, SEQUENCE), 'the same token as the call before');
      await driver.get(probe.id);
      await driver.list({ maxResults: 1 });
    },
  ),
];
