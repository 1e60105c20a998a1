/** Controls as texts: what a command may say, what people read, and the form in which they are stored. */
import { ShardError } from '../../base/errors.ts';
import { CAPACITY_TYPE_NAMES } from '../../machine/capacity-type.ts';
import {
  type Commander,
  type Control,
  type ControlScope,
  PAUSABLE,
  type Pausable,
  type PauseCommand,
  STANDING_ORDERS,
  type Told,
} from '../ports/controls.ts';

/** A command by hand each; a list that a person can still read. */
export const CONTROLS_MAX = 256;
export const FOR_MS_MIN = 1_000;
/** A pause that lasts longer belongs in the configuration file. */
export const FOR_MS_MAX = 90 * 24 * 3_600_000;
const WHO_CHARS_MAX = 256;
const WHY_CHARS_MAX = 1_024;
const SCOPE_CHARS_MAX = 512;
/** CONTROLS_MAX controls with texts of the greatest length, six bytes for an escaped character, take 25 MB; usual ones 60 KB. */
export const STORED_CHARS_MAX = 33_554_432;

export const WHOLE_FLEET: ControlScope = {
  cluster: '',
  provider: '',
  zone: '',
  instanceType: '',
  capacityType: '',
  machine: '',
};

/** By part: the flag of a command, and the key of a declared control. */
export const SCOPE_FLAGS = {
  cluster: 'cluster',
  provider: 'provider',
  zone: 'zone',
  instanceType: 'instance-type',
  capacityType: 'capacity-type',
  machine: 'machine',
} as const satisfies Readonly<Record<keyof ControlScope, string>>;
const TOLD: readonly Told[] = [...PAUSABLE, ...STANDING_ORDERS];
const SCOPE_PARTS = Object.keys(SCOPE_FLAGS) as (keyof ControlScope)[];

/** A command that the shard does not carry out. */
export class ControlRefusedError extends ShardError {
  readonly code = 'control_refused';
  readonly next = 'reject-input';

  constructor(what: string, remedy: string) {
    super(`${what} Nothing was changed. ${remedy}`);
  }
}

/** A file, or a value in the directory, that no shard wrote. */
export class ControlsCorruptError extends ShardError {
  readonly code = 'controls_corrupt';
  readonly next = 'refuse-to-start';

  constructor(why: string) {
    super(
      `The stored controls cannot be read: ${why}. The shard was not started, because a pause may have been in force. ` +
        'Look at the file `controls` in the data directory, then delete it and give the commands again.',
    );
  }
}

/** Throws ControlRefusedError. `all` stands for all that the scope can have. */
export function readPauses(names: readonly string[], scope: ControlScope): Pausable[] {
  const isAll = names.includes('all');
  const unknown = names.find((name) => name !== 'all' && !PAUSABLE.some((one) => one === name));
  if (unknown !== undefined || names.length === 0)
    throw new ControlRefusedError(
      names.length === 0
        ? 'The command names nothing to pause.'
        : `There is no ${JSON.stringify(unknown)} to pause.`,
      `Write one or more of ${PAUSABLE.join(', ')}, or all.`,
    );
  const isOfCluster = scope.cluster !== '';
  const named = PAUSABLE.filter((one) => names.includes(one) || isAll);
  const pauses = isAll && isOfCluster ? named.filter((one) => one !== 'release') : named;
  if (isOfCluster && pauses.includes('release'))
    throw new ControlRefusedError(
      'Releases cannot be paused for a cluster: an Idle machine belongs to none.',
      'Leave --cluster out, or name a provider, zone, instance type or capacity type.',
    );
  const acquires = pauses.some((one) => one === 'create' || one === 'bind');
  if (isOfCluster && acquires && SCOPE_PARTS.some((part) => part !== 'cluster' && scope[part] !== ''))
    throw new ControlRefusedError(
      'Create and bind are paused for a cluster or for machines, and not for some machines of a cluster.',
      'Give --cluster alone, or leave it out.',
    );
  return pauses;
}

/** Throws ControlRefusedError. */
export function checkScope(scope: ControlScope, providerNames: readonly string[]): void {
  for (const part of SCOPE_PARTS) checkText(`--${SCOPE_FLAGS[part]}`, scope[part], 0, SCOPE_CHARS_MAX);
  if (scope.provider !== '' && !providerNames.includes(scope.provider))
    throw new ControlRefusedError(
      `The shard has no provider ${JSON.stringify(scope.provider)}.`,
      `Its providers are ${providerNames.join(', ')}.`,
    );
  const types = Object.values(CAPACITY_TYPE_NAMES);
  if (scope.capacityType !== '' && !types.includes(scope.capacityType))
    throw new ControlRefusedError(
      `There is no capacity type ${JSON.stringify(scope.capacityType)}.`,
      `Write one of ${types.join(', ')}.`,
    );
}

/** Throws ControlRefusedError. */
export function checkCommander({ who, why }: Commander): void {
  checkText('--who', who, 1, WHO_CHARS_MAX);
  checkText('--why', why, 1, WHY_CHARS_MAX);
}

/** Throws ControlRefusedError. */
export function checkDuration({ forMs }: Pick<PauseCommand, 'forMs'>): void {
  if (Number.isInteger(forMs) && forMs >= FOR_MS_MIN && forMs <= FOR_MS_MAX) return;
  throw new ControlRefusedError(
    `A pause of ${forMs} ms is not possible.`,
    'Give --for a time from 1s to 90d, such as 2h. For longer, declare the pause in the configuration file.',
  );
}

function checkText(flag: string, text: string, charsMin: number, charsMax: number): void {
  if (text.trim().length >= charsMin && text.length <= charsMax && !hasControlCharacter(text)) return;
  const what =
    text.trim() === ''
      ? `${flag} is missing.`
      : `${flag} has ${text.length} characters, or one that cannot be printed.`;
  throw new ControlRefusedError(what, `Give ${flag} a text of up to ${charsMax} printable characters.`);
}

/** It would break a line of the log or of a table. */
function hasControlCharacter(text: string): boolean {
  for (const character of text) if (character < ' ' || character === '\u007f') return true;
  return false;
}

export function sameScope(a: ControlScope, b: ControlScope): boolean {
  return SCOPE_PARTS.every((part) => a[part] === b[part]);
}

/** `reclaim and preempt of cluster prod-eu-1 in zone a`; `all of the fleet`. */
export function subjectOf({ pauses, scope }: Pick<Control, 'pauses' | 'scope'>): string {
  const what = pauses.length === PAUSABLE.length ? 'all' : pauses.join(', ');
  return `${what} ${placeOf(scope)}`;
}

export function placeOf(scope: ControlScope): string {
  const parts = SCOPE_PARTS.filter((part) => scope[part] !== '').map(
    (part) => `${SCOPE_FLAGS[part].replace('-', ' ')} ${scope[part]}`,
  );
  return parts.length === 0 ? 'of the whole fleet' : `of ${parts.join(', ')}`;
}

/** Only those that commands set: the configuration declares the others again at the next start. */
export function writeControls(controls: readonly Control[]): string {
  return JSON.stringify({ version: 1, controls });
}

/** Throws ControlsCorruptError. */
export function readControls(text: string): Control[] {
  if (text.length > STORED_CHARS_MAX) throw new ControlsCorruptError(`they have ${text.length} characters`);
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw new ControlsCorruptError('they are not JSON');
  }
  const { version, controls } = (read ?? {}) as { version?: unknown; controls?: unknown };
  if (version !== 1)
    throw new ControlsCorruptError(
      `they have version ${JSON.stringify(version) ?? 'none'}, and this shard knows version 1`,
    );
  if (!Array.isArray(controls) || controls.length > CONTROLS_MAX)
    throw new ControlsCorruptError('they are no list of controls');
  return controls.map(readControl);
}

function readControl(value: unknown): Control {
  const { id, pauses, scope, who, why, via, sinceMs, untilMs } = (value ?? {}) as Record<string, unknown>;
  const isText = (text: unknown) => typeof text === 'string';
  const isTime = (time: unknown) => typeof time === 'number' && Number.isFinite(time);
  const isScope =
    typeof scope === 'object' &&
    scope !== null &&
    SCOPE_PARTS.every((part) => isText({ ...WHOLE_FLEET, ...scope }[part]));
  const arePauses =
    Array.isArray(pauses) && pauses.length > 0 && pauses.every((one) => TOLD.includes(one as Told));
  const isWhole =
    [id, who, why, via].every(isText) &&
    isScope &&
    arePauses &&
    isTime(sinceMs) &&
    (untilMs === null || isTime(untilMs));
  if (!isWhole)
    throw new ControlsCorruptError(`control ${JSON.stringify(id) ?? 'without an id'} is not whole`);
  // An older shard knew no controls of one machine.
  return { ...(value as Control), scope: { ...WHOLE_FLEET, ...(scope as ControlScope) } };
}
