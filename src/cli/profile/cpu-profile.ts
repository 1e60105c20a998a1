/**
 * Summarises a V8 CPU profile. A profile is a tree of calls and samples, about one per millisecond, of the node that was
 * running. The time until the next sample counts as self time of that function and as total time of it and each caller,
 * once even if a function calls itself.
 */
import { ShardError } from '../../base/errors.ts';

export class NotAProfileError extends ShardError {
  readonly code = 'not_a_profile';
  readonly next = 'reject-input';

  constructor(file: string, why: string) {
    super(
      `${file} is not a CPU profile: ${why}. node --cpu-prof writes one profile per thread when the process ends.`,
    );
  }
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0; −1 if there is none. */
  readonly lineNumber: number;
  readonly columnNumber: number;
}

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  /** Microseconds. */
  readonly startTime: number;
  readonly endTime: number;
  /** Ids of nodes. */
  readonly samples: readonly number[];
  /** Microseconds from the sample before, or from the start. */
  readonly timeDeltas: readonly number[];
}

export interface ProfiledFunction {
  readonly name: string;
  readonly url: string;
  /** From 0; −1 if there is none. */
  readonly line: number;
  readonly column: number;
  selfMs: number;
  totalMs: number;
}

export interface ProfileSummary {
  readonly durationMs: number;
  /** All time that was not idle: code, garbage collection and the runtime. */
  readonly busyMs: number;
  readonly sampleCount: number;
  /** Most self time first; idle time is left out. */
  readonly functions: readonly ProfiledFunction[];
}

const IDLE = '(idle)';
const ROOT = '(root)';

/** Throws NotAProfileError. */
export function parseProfile(file: string, text: string): CpuProfile {
  let value: Partial<CpuProfile> | null;
  try {
    value = JSON.parse(text) as Partial<CpuProfile> | null;
  } catch (error) {
    throw new NotAProfileError(file, (error as Error).message);
  }
  const { nodes, samples, timeDeltas, startTime, endTime } = value ?? {};
  const hasLists = Array.isArray(nodes) && Array.isArray(samples) && Array.isArray(timeDeltas);
  if (!hasLists || typeof startTime !== 'number' || typeof endTime !== 'number')
    throw new NotAProfileError(file, 'nodes, samples, timeDeltas, startTime or endTime are missing');
  return { nodes, samples, timeDeltas, startTime, endTime };
}

export function summarise(profile: CpuProfile): ProfileSummary {
  const functions = new Map<string, ProfiledFunction>();
  const functionByNode = new Map<number, ProfiledFunction>();
  const callerByNode = new Map<number, number>();
  for (const { id, callFrame, children = [] } of profile.nodes) {
    const { functionName: name, url, lineNumber: line, columnNumber: column } = callFrame;
    const key = `${name}\n${url}\n${line}\n${column}`;
    const known = functions.get(key) ?? { name, url, line, column, selfMs: 0, totalMs: 0 };
    functions.set(key, known);
    functionByNode.set(id, known);
    for (const child of children) callerByNode.set(child, id);
  }
  for (const [node, selfMs] of selfMsByNode(profile)) {
    functionByNode.get(node)!.selfMs += selfMs;
    const callers = new Set<ProfiledFunction>();
    for (let at: number | undefined = node; at !== undefined; at = callerByNode.get(at))
      callers.add(functionByNode.get(at)!);
    for (const caller of callers) caller.totalMs += selfMs;
  }
  const shown = [...functions.values()].filter(({ name }) => name !== IDLE && name !== ROOT);
  return {
    durationMs: (profile.endTime - profile.startTime) / 1000,
    busyMs: shown.reduce((sum, { selfMs }) => sum + selfMs, 0),
    sampleCount: profile.samples.length,
    functions: shown.sort((a, b) => b.selfMs - a.selfMs),
  };
}

function selfMsByNode({ samples, timeDeltas, startTime, endTime }: CpuProfile): Map<number, number> {
  const selfMs = new Map<number, number>();
  let atUs = startTime;
  for (const [index, node] of samples.entries()) {
    atUs += timeDeltas[index]!;
    const untilUs = index + 1 < samples.length ? atUs + timeDeltas[index + 1]! : endTime;
    // A clock that was set back between two samples gives a negative time, which counts as zero.
    selfMs.set(node, (selfMs.get(node) ?? 0) + Math.max(untilUs - atUs, 0) / 1000);
  }
  return selfMs;
}
