/** gRPC status codes by name. */
import { status } from '@grpc/grpc-js';

export const OK = status.OK;
export const FAILED_PRECONDITION = status.FAILED_PRECONDITION;
export const NOT_FOUND = status.NOT_FOUND;
export const INVALID_ARGUMENT = status.INVALID_ARGUMENT;
export const INTERNAL = status.INTERNAL;
export const UNIMPLEMENTED = status.UNIMPLEMENTED;
export const RESOURCE_EXHAUSTED = status.RESOURCE_EXHAUSTED;

/** The provider did not answer at all, so the rule under test is neither kept nor broken. */
export function isUnanswered(code: number): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED;
}

export function codeName(code: number): string {
  return status[code] ?? `code ${code}`;
}
