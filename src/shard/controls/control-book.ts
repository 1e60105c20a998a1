/**
 * The controls in force (H1, H2): those that commands set, which are stored and expire, and those that the configuration declares.
 * A command is done when it is stored: a process that dies in between has either both or neither. Commands are carried out one
 * after the other, in the order in which they came.
 */
import type { Clock, Scheduler, Timer } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import {
  type Commander,
  type Control,
  type ControlRecord,
  type ControlScope,
  type ControlStore,
  type DeclaredControl,
  type Order,
  PAUSABLE,
  type PauseCommand,
  type ResumeCommand,
  type StandingOrder,
  type Told,
} from '../ports/controls.ts';
import type { ShardObserver } from '../ports/observer.ts';
import {
  CONTROLS_MAX,
  ControlRefusedError,
  checkCommander,
  checkDuration,
  checkScope,
  placeOf,
  readPauses,
  sameScope,
  subjectOf,
  writeControls,
} from './control.ts';
import { cordons, isPause } from './flags.ts';

const HOUR_MS = 3_600_000;
/** Of a timer; a later end sets another one. */
const TIMER_MS_MAX = 24 * HOUR_MS;
/** Lines of the hourly reminder; one more says how many others there are. */
const REMINDED_MAX = 20;

export interface ControlBookOptions {
  /** As the last process stored them. */
  readonly stored: readonly Control[];
  readonly declared: readonly DeclaredControl[];
  readonly store: ControlStore;
  readonly providerNames: readonly string[];
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly observer: ShardObserver;
  /** The controls in force are now these. */
  readonly onChange: (controls: readonly Control[]) => void;
}

export class ControlStoreError extends ShardError {
  readonly code = 'control_not_stored';
  readonly next = 'retry-later';

  constructor(why: string) {
    super(
      `The shard could not store the control: ${why}. Nothing was changed, because a control must survive a restart. ` +
        'Repair the data directory, or stop the shard.',
    );
  }
}

export class ControlBook {
  readonly #options: ControlBookOptions;
  /** Set by commands, the oldest first. */
  #commanded: readonly Control[];
  #declared: readonly Control[];
  readonly #stopped = new Map<string, number>();
  #lastNumber: number;
  #turn: Promise<unknown> = Promise.resolve();
  #timer: Timer | null = null;
  #remindedMs: number;
  #isStopped = false;

  constructor(options: ControlBookOptions) {
    this.#options = options;
    const nowMs = options.clock.nowMs();
    this.#commanded = options.stored;
    this.#declared = declaredControls(options.declared, nowMs);
    this.#lastNumber = Math.max(0, ...options.stored.map(({ id }) => Number(id.slice(1)) || 0));
    this.#remindedMs = nowMs;
  }

  /** Applies what was stored and declared. Once, when the other parts of the shard exist. */
  begin(): void {
    const { clock, observer } = this.#options;
    for (const control of this.inForce) observer.happened(reminder(control, clock.nowMs()));
    this.#changed();
  }

  get inForce(): readonly Control[] {
    return this.#declared.length === 0 ? this.#commanded : [...this.#declared, ...this.#commanded];
  }

  isDeclared(control: Control): boolean {
    return this.#declared.includes(control);
  }

  /** Queued actions that the control stopped. */
  stoppedBy({ id }: Control): number {
    return this.#stopped.get(id) ?? 0;
  }

  noteStopped({ id }: Control): void {
    this.#stopped.set(id, (this.#stopped.get(id) ?? 0) + 1);
  }

  /** The configuration was read again. */
  declare(declared: readonly DeclaredControl[]): void {
    const next = declaredControls(declared, this.#options.clock.nowMs());
    if (JSON.stringify(next.map(withoutTime)) === JSON.stringify(this.#declared.map(withoutTime))) return;
    this.#declared = next;
    this.#changed();
  }

  pause(command: PauseCommand): Promise<Control> {
    const subject = { pauses: PAUSABLE.filter((one) => command.pauses.includes(one)), scope: command.scope };
    return this.#inTurn('pause', command, subjectOf(subject), async () => {
      checkCommander(command);
      checkDuration(command);
      checkScope(command.scope, this.#options.providerNames);
      return this.#begin(readPauses(command.pauses, command.scope), [command.scope], command, command.forMs);
    }).then(([control]) => control!);
  }

  /** H5, H6, H8: resolves with the controls, one for each scope. The caller checked them. `forMs` 0: until they are lifted. */
  tell(
    name: Order,
    told: StandingOrder,
    scopes: readonly ControlScope[],
    forMs: number,
    commander: Commander,
  ): Promise<readonly Control[]> {
    const subject = scopes.map((scope) => subjectOf({ pauses: [told], scope })).join('; ');
    return this.#inTurn(name, commander, subject, async () => {
      // One order for a place: a drain takes the place of a cordon, and the other way round.
      const isSame = (control: Control) =>
        !control.pauses.some(isPause) && scopes.some((scope) => sameScope(scope, control.scope));
      return this.#begin([told], scopes, commander, forMs, isSame);
    });
  }

  /** H6: lifts the cordons and drains of exactly these places; resolves with them. */
  uncordon(scopes: readonly ControlScope[], commander: Commander): Promise<readonly Control[]> {
    const isMeant = (control: Control) =>
      cordons(control) && scopes.some((scope) => sameScope(scope, control.scope));
    const subject = scopes.map((scope) => `cordons ${placeOf(scope)}`).join('; ');
    return this.#inTurn('uncordon', commander, subject, async () => {
      const lifted = this.#commanded.filter(isMeant);
      await this.#store((commanded) => commanded.filter((control) => !isMeant(control)));
      this.#changed();
      return lifted;
    });
  }

  /** A command that leaves no control behind was carried out, or refused. */
  note(command: Order, subject: string, commander: Commander, outcome: 'done' | 'refused', detail: string) {
    const atMs = this.#options.clock.nowMs();
    this.#record({
      atMs,
      command,
      id: '',
      ...commanderOf(commander),
      subject,
      untilMs: null,
      outcome,
      detail,
    });
  }

  /** H8: ends a control that has done what it is for. */
  end(control: Control, detail: string): void {
    this.#end([control], this.#options.clock.nowMs(), detail);
  }

  async #begin(
    pauses: readonly Told[],
    scopes: readonly ControlScope[],
    { who, why, via }: Commander,
    forMs: number,
    replaces: (control: Control) => boolean = () => false,
  ): Promise<Control[]> {
    const kept = this.#commanded.filter((control) => !replaces(control));
    if (kept.length + scopes.length > CONTROLS_MAX)
      throw new ControlRefusedError(
        `At most ${CONTROLS_MAX} controls can be in force, and ${kept.length} are.`,
        'Lift some, which flotilla controls lists, or name a place instead of machines.',
      );
    const sinceMs = this.#options.clock.nowMs();
    const untilMs = forMs === 0 ? null : sinceMs + forMs;
    const controls = scopes.map((scope, index): Control => {
      const id = `c${this.#lastNumber + 1 + index}`;
      return { id, pauses, scope, who, why, via, sinceMs, untilMs };
    });
    await this.#store((commanded) => [...commanded.filter((control) => !replaces(control)), ...controls]);
    this.#lastNumber += controls.length;
    this.#changed();
    return controls;
  }

  /** Resolves with the controls that were lifted. */
  resume(command: ResumeCommand): Promise<readonly Control[]> {
    const subject = command.isEvery
      ? 'every control'
      : command.id !== ''
        ? command.id
        : subjectOf({ pauses: PAUSABLE.filter((one) => command.pauses.includes(one)), scope: command.scope });
    return this.#inTurn('resume', command, subject, async () => {
      checkCommander(command);
      const lifted = this.#named(command);
      await this.#store((commanded) => commanded.filter((control) => !lifted.includes(control)));
      this.#changed();
      return lifted;
    });
  }

  /** Ends what is due, and reminds of the rest once an hour. Before each cycle, and by the timer. */
  expire(nowMs: number): void {
    const due = this.inForce.filter(({ untilMs }) => untilMs !== null && untilMs <= nowMs);
    if (due.length > 0) this.#end(due, nowMs, '');
    if (Math.abs(nowMs - this.#remindedMs) < HOUR_MS) return;
    this.#remindedMs = nowMs;
    for (const control of this.inForce.slice(0, REMINDED_MAX))
      this.#options.observer.happened(reminder(control, nowMs));
  }

  #end(ended: readonly Control[], nowMs: number, detail: string): void {
    this.#commanded = this.#commanded.filter((control) => !ended.includes(control));
    this.#declared = this.#declared.filter((control) => !ended.includes(control));
    for (const control of ended) this.#record({ ...recordOf('expire', control, nowMs), detail });
    this.#changed();
    // If it fails, the next start reads them again, and ends them at once.
    this.#turn = this.#turn.then(() =>
      this.#options.store.write(writeControls(this.#commanded)).catch(() => {}),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #named(command: ResumeCommand): Control[] {
    const inForce = this.inForce;
    const pauses = command.isEvery || command.id !== '' ? [] : readPauses(command.pauses, command.scope);
    const named = inForce.filter((control) =>
      command.isEvery
        ? !this.isDeclared(control)
        : command.id !== ''
          ? control.id === command.id
          : sameScope(control.scope, command.scope) &&
            control.pauses.every((one) => isPause(one) && pauses.includes(one)),
    );
    const declared = named.find((control) => this.isDeclared(control));
    if (declared !== undefined)
      throw new ControlRefusedError(
        `Control ${declared.id} is declared in the configuration, and no command lifts it.`,
        'Remove it from the configuration and send SIGHUP.',
      );
    if (named.length > 0) return named;
    const ids = inForce.map((control) => `${control.id} (${subjectOf(control)})`);
    throw new ControlRefusedError(
      'No control in force is the one that the command names.',
      ids.length === 0 ? 'No control is in force.' : `In force: ${ids.join('; ')}. Name one by its id.`,
    );
  }

  async #store(change: (commanded: readonly Control[]) => readonly Control[]): Promise<void> {
    try {
      await this.#options.store.write(writeControls(change(this.#commanded)));
    } catch (error) {
      throw new ControlStoreError((error as Error).message);
    }
    this.#commanded = change(this.#commanded); // some may have expired while they were written
  }

  #inTurn(
    name: 'pause' | 'resume' | Order,
    command: Commander,
    subject: string,
    run: () => Promise<Control[]>,
  ): Promise<Control[]> {
    const { clock } = this.#options;
    const done = this.#turn.then(run).then(
      (controls) => {
        for (const control of controls)
          this.#record({ ...recordOf(name, control, clock.nowMs()), ...commanderOf(command) });
        return controls;
      },
      (error: Error) => {
        const refused = {
          id: '',
          subject,
          untilMs: null,
          outcome: 'refused',
          detail: error.message,
        } as const;
        this.#record({ atMs: clock.nowMs(), command: name, ...commanderOf(command), ...refused });
        throw error;
      },
    );
    this.#turn = done.catch(() => {});
    return done;
  }

  #changed(): void {
    const { onChange } = this.#options;
    for (const id of this.#stopped.keys())
      if (!this.inForce.some((control) => control.id === id)) this.#stopped.delete(id);
    onChange(this.inForce);
    this.#setTimer();
  }

  #setTimer(): void {
    const { scheduler, clock } = this.#options;
    this.#timer?.cancel();
    this.#timer = null;
    const ends = this.inForce.flatMap(({ untilMs }) => untilMs ?? []);
    if (ends.length === 0 || this.#isStopped) return;
    const afterMs = Math.min(...ends) - clock.nowMs();
    this.#timer = scheduler.after(Math.min(Math.max(0, afterMs), TIMER_MS_MAX), () => {
      this.#timer = null;
      this.expire(clock.nowMs());
      if (this.#timer === null) this.#setTimer();
    });
  }

  #record(record: ControlRecord): void {
    const { observer } = this.#options;
    observer.controlled?.(record);
    const { command, id, who, why, subject, outcome, detail } = record;
    observer.happened({ kind: 'control', level: 'warn', command, id, subject, who, why, outcome, detail });
  }
}

function declaredControls(declared: readonly DeclaredControl[], nowMs: number): Control[] {
  return declared
    .map((control, index) => ({ ...control, id: `file-${index + 1}`, via: 'file', sinceMs: nowMs }))
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs);
}

function withoutTime({ sinceMs: _, ...control }: Control): object {
  return control;
}

function commanderOf({ who, why, via }: Commander): Commander {
  return { who, why, via };
}

function recordOf(command: ControlRecord['command'], control: Control, nowMs: number): ControlRecord {
  const { id, who, why, via, untilMs } = control;
  const subject = subjectOf(control);
  return { atMs: nowMs, command, id, who, why, via, subject, untilMs, outcome: 'done', detail: '' };
}

function reminder({ id, pauses, scope, who, why, untilMs }: Control, nowMs: number) {
  const leftMs = untilMs === null ? null : Math.max(0, untilMs - nowMs);
  return {
    kind: 'control_in_force',
    level: 'warn',
    id,
    subject: subjectOf({ pauses, scope }),
    who,
    why,
    leftMs,
  } as const;
}
