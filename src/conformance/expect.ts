/** What checks ask of an answer, in the words of a report. */
import { CheckFailedError, must, skip } from './check.ts';
import type { AckReply, ConfigureParameters, Reply } from './client.ts';
import { codeName, FAILED_PRECONDITION, isUnanswered, UNIMPLEMENTED } from './codes.ts';
import { describeMap, findDifference, quote, type Snapshot, sameMap, shorten } from './snapshot.ts';

export function describeReply(reply: Reply<unknown>): string {
  return reply.ok ? 'OK' : `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`;
}

/** A provider that falls silent has not said anything about the sentence, so the check cannot pass. */
export function requireAnswer(reply: Reply<unknown>, call: string): void {
  must(!isUnanswered(reply.code), {
    expected: `an answer to ${call}`,
    came: describeReply(reply),
    change: 'answer every call within its deadline, with a status if it cannot be done',
  });
}

export function requireCode(reply: Reply<unknown>, code: number, call: string, change: string): void {
  must(reply.code === code, {
    expected: `${codeName(code)} for ${call}`,
    came: describeReply(reply),
    change,
  });
}

export function requireFenced(reply: AckReply, call: string, change?: string): void {
  requireCode(
    reply,
    FAILED_PRECONDITION,
    call,
    change ??
      'keep the highest (epoch, sequence) per (shard_id, machine_id) and refuse every token that is not newer',
  );
}

/** Whatever else becomes of the call, the fence let it through. */
export function requirePassed(reply: AckReply, call: string, change: string): void {
  requireAnswer(reply, call);
  must(reply.code !== FAILED_PRECONDITION, {
    expected: `${call} to pass the fence`,
    came: describeReply(reply),
    change,
  });
}

/** A call that does not fit: refused by any code that does not mean fencing. */
export function requireRefused(reply: AckReply, call: string): void {
  requireAnswer(reply, call);
  if (reply.code === UNIMPLEMENTED) return;
  must(!reply.ok, {
    expected: `${call} to be refused`,
    came: 'OK',
    change: 'look at the state of the machine before you act, and refuse what does not fit',
  });
  requireOtherCode(reply, call);
}

export function requireOtherCode(reply: AckReply, call: string): void {
  must(reply.code !== FAILED_PRECONDITION, {
    expected: `${call} to be refused with a code other than FAILED_PRECONDITION`,
    came: describeReply(reply),
    change:
      'keep FAILED_PRECONDITION for stale tokens: a shard that sees it stops for good. INVALID_ARGUMENT or ABORTED will do',
  });
}

export function requireUnchanged(before: Snapshot, after: Snapshot, by: string): void {
  const difference = findDifference(before, after);
  if (difference === null) return;
  throw new CheckFailedError({
    expected: `${by} to change nothing`,
    came: `${difference.field} was ${shorten(difference.left)} and is ${shorten(difference.right)}`,
    change: 'refuse before the first write, so that a refused or repeated call leaves no trace',
  });
}

export function requireEcho(machine: Snapshot, binding: ConfigureParameters, where: string): void {
  const change =
    'store cluster_id and shard_metadata as they came and send them back unread: no trimming, parsing, sorting out or re-encoding';
  must(machine.cluster === binding.cluster, {
    expected: `cluster ${shorten(quote(binding.cluster))} on ${where}`,
    came: shorten(quote(machine.cluster)),
    change,
  });
  if (sameMap(machine.shardMetadata, binding.shardMetadata)) return;
  throw new CheckFailedError({
    expected: `the shard_metadata of Configure, byte for byte, on ${where}`,
    came: describeMapDifference(binding.shardMetadata, machine.shardMetadata),
    change,
  });
}

export function requireUnbound(machine: Snapshot, where: string): void {
  must(machine.cluster === '' && Object.keys(machine.shardMetadata).length === 0, {
    expected: `neither cluster nor shard_metadata on ${where}`,
    came: `cluster ${shorten(quote(machine.cluster))}, shard_metadata ${shorten(describeMap(machine.shardMetadata))}`,
    change: 'clear both in the same step in which the drain ends',
  });
}

/** For operations that a provider may never support. */
export function skipIfUnsupported(reply: Reply<unknown>, method: string): void {
  if (reply.code === UNIMPLEMENTED) skip(`the provider does not support ${method} (UNIMPLEMENTED)`);
}

function describeMapDifference(
  wanted: Readonly<Record<string, string>>,
  got: Readonly<Record<string, string>>,
): string {
  for (const key of Object.keys(wanted).sort()) {
    if (!Object.hasOwn(got, key)) return `key ${quote(key)} is missing`;
    if (got[key] !== wanted[key]) {
      return `${quote(key)} is ${shorten(quote(got[key]!))}, sent was ${shorten(quote(wanted[key]!))}`;
    }
  }
  const extra = Object.keys(got).find((key) => !Object.hasOwn(wanted, key));
  return `key ${quote(extra ?? '')} was never sent`;
}
