/**
 * Controls: what people tell a running shard to do or to leave alone (rules H1 …). The shard keeps them; edges bring commands in,
 * store them and show them.
 */

export const PAUSABLE = ['create', 'bind', 'reclaim', 'preempt', 'release'] as const;
export type Pausable = (typeof PAUSABLE)[number];

/** H5, H6, H8: what a control can be besides a pause. `drain-now` waits for no replacement. */
export const STANDING_ORDERS = ['cordon', 'drain', 'drain-now', 'retire'] as const;
export type StandingOrder = (typeof STANDING_ORDERS)[number];
/** What a control does. */
export type Told = Pausable | StandingOrder;

/** Which machines, or which cluster; '' = any. All parts that are given must fit. */
export interface ControlScope {
  readonly cluster: string;
  readonly provider: string;
  readonly zone: string;
  readonly instanceType: string;
  /** As the API spells it: `on-demand`, `spot` … */
  readonly capacityType: string;
  /** The id of one machine. */
  readonly machine: string;
}

/** H3: what the shard must not do, and where; or H5, H6, H8: which machines leave or are cordoned, which cluster is gone. */
export interface Control {
  /** `c7`, or `file-2` for one of the configuration file. */
  readonly id: string;
  readonly pauses: readonly Told[];
  readonly scope: ControlScope;
  readonly who: string;
  readonly why: string;
  /** How the command came in: `socket`, or the certificate that it came with; `file` if it is declared. */
  readonly via: string;
  readonly sinceMs: number;
  /** null: until it is lifted. */
  readonly untilMs: number | null;
}

/** One that the configuration declares: no command lifts it. */
export type DeclaredControl = Pick<Control, 'pauses' | 'scope' | 'who' | 'why' | 'untilMs'>;

/** Who commands, why, and how the command came in. */
export interface Commander {
  readonly who: string;
  readonly why: string;
  readonly via: string;
}

export interface PauseCommand extends Commander {
  readonly pauses: readonly string[];
  readonly scope: ControlScope;
  readonly forMs: number;
}

/** Names a control by its id, or all with this scope that pause nothing but this. */
export interface ResumeCommand extends Commander {
  readonly id: string;
  readonly pauses: readonly string[];
  readonly scope: ControlScope;
  readonly isEvery: boolean;
}

/** What `flotilla drain`, `cordon`, `uncordon`, `release`, `retry` and `retire-cluster` ask for. */
export const ORDERS = [
  'cordon',
  'uncordon',
  'drain',
  'drain-now',
  'release',
  'retry',
  'retire-cluster',
] as const;
export type Order = (typeof ORDERS)[number];

export interface OrderCommand extends Commander {
  readonly order: string;
  /** One for each machine that is named, or one place. */
  readonly scopes: readonly ControlScope[];
  /** Of a drain or a cordon; 0: until a command lifts it. */
  readonly forMs: number;
  /** Only says what the command would be about. */
  readonly isPreview: boolean;
}

export interface Ordered {
  /** That came into force, or that were lifted. */
  readonly controls: readonly ControlView[];
  /** That the command is about. */
  readonly machines: number;
  /** What follows, for a person. */
  readonly lines: readonly string[];
}

/** S6: the machines that the held listing of this provider lacks are gone. */
export interface ConfirmRemovalCommand extends Commander {
  readonly provider: string;
}

/** What was confirmed: how many of the known machines the held listing lacks. */
export interface ConfirmedRemoval {
  readonly provider: string;
  readonly knownCount: number;
  readonly missingCount: number;
}

export interface ControlView extends Control {
  readonly isDeclared: boolean;
  /** Actions that were queued when it came into force, and that it stopped. */
  readonly stopped: number;
  /** Machines that it keeps from what it pauses now. */
  readonly holding: number;
}

/** H1: a command, and what became of it. */
export interface ControlRecord {
  readonly atMs: number;
  readonly command: 'pause' | 'resume' | 'expire' | 'confirm-removal' | Order;
  /** '' if the command was refused. */
  readonly id: string;
  readonly who: string;
  readonly why: string;
  readonly via: string;
  /** What was paused or resumed and where, or the provider. */
  readonly subject: string;
  readonly untilMs: number | null;
  readonly outcome: 'done' | 'refused';
  readonly detail: string;
}

/** Keeps the controls over restarts. The shard says that a command is done after it has been written. */
export interface ControlStore {
  /** Rejects, and keeps what it had, if it cannot. */
  write(text: string): Promise<void>;
}

/** What an admin may do. Rejects with a ShardError if the command is refused; nothing changes then. */
export interface AdminPort {
  pause(command: PauseCommand): Promise<ControlView>;
  /** The controls that were lifted. */
  resume(command: ResumeCommand): Promise<readonly ControlView[]>;
  controls(): readonly ControlView[];
  confirmRemoval(command: ConfirmRemovalCommand): Promise<ConfirmedRemoval>;
  order(command: OrderCommand): Promise<Ordered>;
  /** What an admin should know about the controls besides; '' = nothing. Asked after each command. */
  warning?(): string;
}
