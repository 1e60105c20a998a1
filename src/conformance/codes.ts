/** gRPC status codes by name, as the contract and people call them. */
import { status } from '@grpc/grpc-js';

export const OK = status.OK;
export const FAILED_PRECONDITION = status.FAILED_PRECONDITION;
export const NOT_FOUND = status.NOT_FOUND;
export const INVALID_ARGUMENT = status.INVALID_ARGUMENT;
export const INTERNAL = status.INTERNAL;
export const UNIMPLEMENTED = status.UNIMPLEMENTED;

/** The provider did not answer at all, which says nothing about the sentence under test. */
export function isUnanswered(code: number): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED;
}

export function codeName(code: number): string {
  return status[code] ?? `code ${code}`;
}
