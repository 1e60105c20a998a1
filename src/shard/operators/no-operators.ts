/** A shard without an operators' edge: no cluster has a session, and everything else works. */
import type { OperatorsPort } from '../ports/operators.ts';

export const NO_OPERATORS: OperatorsPort = {
  requestBlob: () => Promise.resolve({ kind: 'no_session' }),
  instructReclaim: () => false,
  nodeChanged: () => {},
  nodeLeft: () => {},
  hintCapacity: () => {},
  pingAll: () => {},
  endAll: () => {},
};
