/** Expectations that several checks share, with the texts of their failures. */
import { CheckFailedError, must, skip } from './check.ts';
import type { AckReply, ConfigureParameters, Reply } from './client.ts';
import { codeName, FAILED_PRECONDITION, isUnanswered, UNIMPLEMENTED } from './codes.ts';
import { describeMap, findDifference, quote, type Snapshot, sameMap, shorten } from './snapshot.ts';

export function describeReply(reply: Reply<unknown>): string {
  return reply.ok ? 'OK' : `${codeName(reply.code)}: ${shorten(quote(reply.detail))}`;
}

/** Without an answer the check can prove nothing, so it must not pass. */
export function requireAnswer(reply: Reply<unknown>, call: string): void {
  must(!isUnanswered(reply.code), {
    expected: `an answer to ${call}`,
    came: describeReply(reply),
    change: 'answer every call before its deadline; if the call cannot be done, answer with a status',
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
      'keep the highest (epoch, sequence) per (shard_id, machine_id) and refuse every token that is not newer; otherwise a shard process that was replaced can still move machines',
  );
}

/** The call may fail for another reason; the fence must not refuse it. */
export function requirePassed(reply: AckReply, call: string, change: string): void {
  requireAnswer(reply, call);
  must(reply.code !== FAILED_PRECONDITION, {
    expected: `${call} to pass the fence`,
    came: describeReply(reply),
    change,
  });
}

/** A call that the state does not allow: refused with any code but that of fencing. */
export function requireRefused(reply: AckReply, call: string): void {
  requireAnswer(reply, call);
  if (reply.code === UNIMPLEMENTED) return;
  must(!reply.ok, {
    expected: `the provider to refuse ${call}`,
    came: 'OK',
    change: 'check the state of the machine before you act, and refuse calls that the state does not allow',
  });
  requireOtherCode(reply, call);
}

export function requireOtherCode(reply: AckReply, call: string): void {
  must(reply.code !== FAILED_PRECONDITION, {
    expected: `the provider to refuse ${call} with a code other than FAILED_PRECONDITION`,
    came: describeReply(reply),
    change:
      'use FAILED_PRECONDITION for stale tokens only, because a shard that receives it stops executing for good; return INVALID_ARGUMENT or ABORTED here',
  });
}

export function requireUnchanged(before: Snapshot, after: Snapshot, by: string): void {
  const difference = findDifference(before, after);
  if (difference === null) return;
  throw new CheckFailedError({
    expected: `${by} to change nothing`,
    came: `${difference.field} was ${shorten(difference.left)} and is ${shorten(difference.right)}`,
    change: 'check everything before the first write, so that a refused or repeated call changes nothing',
  });
}

export function requireEcho(machine: Snapshot, binding: ConfigureParameters, where: string): void {
  const change =
    'store cluster_id and shard_metadata as received and return them unchanged: do not trim, parse, filter or re-encode them; a restarted shard knows its machines only from these values';
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
    change:
      'clear both in the step that ends the drain; a shard takes a machine with a cluster for a bound one',
  });
}

/** The contract lets a provider leave an operation out. */
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
      return `${quote(key)} is ${shorten(quote(got[key]!))}; the suite sent ${shorten(quote(wanted[key]!))}`;
    }
  }
  const extra = Object.keys(got).find((key) => !Object.hasOwn(wanted, key));
  return `key ${quote(extra ?? '')}, which the suite never sent`;
}
