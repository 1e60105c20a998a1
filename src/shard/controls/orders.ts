/**
 * Orders of people about machines (H5, H6, R3, X12) and about a cluster that is gone (H8). Drains, cordons and retirements are
 * controls, which the book keeps. To give a machine back and to try it again are done at once, and leave no control behind.
 */
import type { Engine } from '../../decision/engine.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { Backoffs } from '../machines/backoff.ts';
import type { FollowUpReads } from '../machines/reads.ts';
import {
  type Control,
  type ControlScope,
  ORDERS,
  type Order,
  type OrderCommand,
  type Ordered,
  type StandingOrder,
} from '../ports/controls.ts';
import { count, machines } from '../view/explain/words.ts';
import {
  ControlRefusedError,
  checkCommander,
  checkDuration,
  checkScope,
  placeOf,
  sameScope,
  WHOLE_FLEET,
} from './control.ts';
import type { ControlBook } from './control-book.ts';
import { leavingLines } from './leaving-lines.ts';
import { statesOf } from './order-texts.ts';
import type { Pauses } from './pauses.ts';
import type { RetiredClusters } from './retired-clusters.ts';

const S = MachineState;
/** Named one by one; for more there are places. */
const SCOPES_MAX = 256;

export interface OrdersOptions {
  readonly inventory: Inventory;
  readonly book: ControlBook;
  readonly pauses: Pauses;
  readonly retired: RetiredClusters;
  readonly providerNames: readonly string[];
  readonly engine: () => Engine;
  readonly backoffs: () => Backoffs;
  readonly reads: () => FollowUpReads;
  readonly hasSession: (cluster: number) => boolean;
  /** Resolves after the next cycle, which decides with what was ordered. */
  readonly nextCycle: () => Promise<void>;
  readonly wake: () => void;
}

/** What a command leaves behind, beside the machines that it is about. */
type Done = Pick<Ordered, 'lines'> & { readonly controls: readonly Control[] };

export class Orders {
  readonly #options: OrdersOptions;

  constructor(options: OrdersOptions) {
    this.#options = options;
  }

  /** Throws ControlRefusedError. */
  async give(command: OrderCommand): Promise<Done & Pick<Ordered, 'machines'>> {
    const order = ORDERS.find((one) => one === command.order);
    if (order === undefined)
      throw new ControlRefusedError(
        `There is no order ${JSON.stringify(command.order.slice(0, 40))}.`,
        `Write one of ${ORDERS.join(', ')}.`,
      );
    try {
      checkCommander(command);
      this.#checkScopes(order, command);
      const slots = this.#machinesOf(order, command.scopes);
      const machineCount = order === 'retire-cluster' ? this.#machinesOfCluster(command) : slots.length;
      if (command.isPreview)
        return { controls: [], machines: machineCount, lines: [this.#preview(order, command, slots)] };
      return { ...(await this.#carryOut(order, command, slots)), machines: machineCount };
    } catch (error) {
      const { book } = this.#options;
      const isKept = order !== 'release' && order !== 'retry'; // the book tells of those
      if (error instanceof ControlRefusedError && !command.isPreview && !isKept)
        book.note(order, subjectOf(order, command.scopes), command, 'refused', error.message);
      throw error;
    }
  }

  #carryOut(order: Order, command: OrderCommand, slots: readonly number[]): Promise<Done> {
    switch (order) {
      case 'release':
        return Promise.resolve(this.#release(command, slots));
      case 'retry':
        return Promise.resolve(this.#retry(command, slots));
      case 'uncordon':
        return this.#uncordon(command);
      case 'retire-cluster':
        return this.#retire(command);
      default:
        return this.#tell(order, command, slots);
    }
  }

  async #tell(
    order: StandingOrder & Order,
    { scopes, forMs, ...commander }: OrderCommand,
    slots: readonly number[],
  ): Promise<Done> {
    const { book, inventory, engine, nextCycle } = this.#options;
    if (forMs !== 0) checkDuration({ forMs });
    const controls = await book.tell(order, order, scopes, forMs, commander);
    if (order === 'cordon') return { controls, lines: [] };
    await nextCycle();
    return { controls, lines: leavingLines(inventory, engine(), slots) };
  }

  async #uncordon({ scopes, ...commander }: OrderCommand): Promise<Done> {
    const { book, inventory } = this.#options;
    const controls = await book.uncordon(scopes, commander);
    const given = this.#machinesIn(scopes).filter((slot) => inventory.hasFlag(slot, Flag.Releasing));
    for (const slot of given) inventory.setFlag(slot, Flag.Releasing, false);
    return { controls, lines: [] };
  }

  async #retire({ scopes, ...commander }: OrderCommand): Promise<Done> {
    const { book, wake } = this.#options;
    const [{ cluster } = WHOLE_FLEET] = scopes;
    const controls = await book.tell('retire-cluster', 'retire', [{ ...WHOLE_FLEET, cluster }], 0, commander);
    wake();
    return {
      controls,
      lines: [
        'Its demand is withdrawn. The shard reclaims its machines under the caps, and then forgets the cluster.',
      ],
    };
  }

  #release(command: OrderCommand, slots: readonly number[]): Done {
    const { inventory, book, wake } = this.#options;
    for (const slot of slots) inventory.setFlag(slot, Flag.Releasing, true);
    book.note('release', subjectOf('release', command.scopes), command, 'done', machines(slots.length));
    wake();
    return { controls: [], lines: ['The next cycle deletes them at their providers.'] };
  }

  #retry(command: OrderCommand, slots: readonly number[]): Done {
    const { inventory, backoffs, reads, book, wake } = this.#options;
    let stillCount = 0;
    for (const slot of slots) {
      backoffs().retry(slot);
      reads().recheck(slot);
      if (inventory.hasFlag(slot, Flag.Backoff)) stillCount++;
    }
    book.note('retry', subjectOf('retry', command.scopes), command, 'done', machines(slots.length));
    wake();
    const still =
      stillCount === 0
        ? []
        : [
            `${count(stillCount)} stay in back-off because of other failures: flotilla explain machine ID says which.`,
          ];
    return { controls: [], lines: ['Their back-offs have ended, and the shard reads them.', ...still] };
  }

  #preview(order: Order, { scopes }: OrderCommand, slots: readonly number[]): string {
    if (order === 'retire-cluster')
      return `Cluster ${scopes[0]!.cluster} has ${machines(this.#machinesOfCluster({ scopes }))}.`;
    return `${machines(slots.length)} ${placeOf(scopes.length === 1 ? scopes[0]! : WHOLE_FLEET).replace('of the whole fleet', 'named')}: ${statesOf(this.#options.inventory, slots)}.`;
  }

  /** Throws ControlRefusedError: a place must be named, and must have machines that the order can be about. */
  #checkScopes(order: Order, { scopes }: OrderCommand): void {
    const { providerNames, inventory, hasSession } = this.#options;
    if (scopes.length === 0 || scopes.some((scope) => sameScope(scope, WHOLE_FLEET)))
      throw new ControlRefusedError(
        'The command names no machine and no place.',
        'The whole fleet is too much. Name one.',
      );
    if (scopes.length > SCOPES_MAX)
      throw new ControlRefusedError(
        `The command names ${scopes.length} machines.`,
        `Name at most ${SCOPES_MAX}, or a place such as --zone.`,
      );
    for (const scope of scopes) checkScope(scope, providerNames);
    if (order === 'retire-cluster') {
      const cluster = inventory.tables.clusters.find(scopes[0]!.cluster);
      if (cluster === 0)
        throw new ControlRefusedError(
          `The shard knows no cluster ${JSON.stringify(scopes[0]!.cluster)}.`,
          'flotilla clusters lists them.',
        );
      if (hasSession(cluster))
        throw new ControlRefusedError(
          `The operator of cluster ${scopes[0]!.cluster} is connected, so the cluster is not gone.`,
          'Stop its operator first.',
        );
      return;
    }
    if (scopes.some(({ cluster }) => cluster !== ''))
      throw new ControlRefusedError(
        'Only retire-cluster names a cluster: a drain of a cluster would drain the replacements too.',
        'Name machines, which flotilla machines --cluster lists, or a zone, instance type, capacity type or provider.',
      );
  }

  #machinesOf(order: Order, scopes: readonly ControlScope[]): readonly number[] {
    if (order === 'retire-cluster') return [];
    const { inventory } = this.#options;
    const unknown = scopes.find(({ machine }) => machine !== '' && inventory.find(machine) === 0);
    // A cordon of a machine that is gone must be liftable.
    if (unknown !== undefined && order !== 'uncordon')
      throw new ControlRefusedError(
        `The shard knows no machine ${JSON.stringify(unknown.machine)}.`,
        'flotilla machines lists them.',
      );
    const slots = this.#machinesIn(scopes);
    if (order === 'uncordon') {
      this.#checkCordoned(scopes);
      return slots;
    }
    const wanted =
      order === 'release'
        ? slots.filter((slot) => inventory.columns.state[slot] === S.Idle)
        : order === 'retry'
          ? slots.filter((slot) => this.#hasFailed(slot))
          : slots;
    if (wanted.length > 0) return wanted;
    const states = statesOf(inventory, slots);
    throw new ControlRefusedError(
      order === 'release'
        ? `None of these machines is Idle: ${states}.`
        : order === 'retry'
          ? `None of these machines is Failed or in back-off: ${states}.`
          : 'The shard knows no machine there.',
      order === 'release' ? 'Drain them first.' : 'flotilla machines shows what there is.',
    );
  }

  #machinesIn(scopes: readonly ControlScope[]): number[] {
    const { pauses } = this.#options;
    return [...new Set(scopes.flatMap((scope) => pauses.machinesIn(scope)))];
  }

  #hasFailed(slot: number): boolean {
    const { inventory } = this.#options;
    return inventory.columns.state[slot] === S.Failed || inventory.hasFlag(slot, Flag.Backoff);
  }

  /** Throws ControlRefusedError if there is nothing to lift, and says what else cordons the machine. */
  #checkCordoned(scopes: readonly ControlScope[]): void {
    const { book, pauses, inventory } = this.#options;
    const isHere = ({ scope, pauses: told }: Control) =>
      told.some((one) => one === 'cordon' || one === 'drain' || one === 'drain-now') &&
      scopes.some((one) => sameScope(one, scope));
    const slots = this.#machinesIn(scopes);
    if (book.inForce.some(isHere) || slots.some((slot) => inventory.hasFlag(slot, Flag.Releasing))) return;
    const other = slots
      .map((slot) => pauses.keeping(slot, Flag.Cordoned))
      .find((control) => control !== null);
    throw new ControlRefusedError(
      other === undefined || other === null
        ? 'No cordon and no drain names exactly this.'
        : `Control ${other.id} of ${other.who} ${other.pauses.join(', ')}s it with others: ${placeOf(other.scope)}.`,
      other === undefined || other === null
        ? 'flotilla controls lists what is in force.'
        : `Lift that: flotilla resume ${other.id} --why TEXT.`,
    );
  }

  #machinesOfCluster({ scopes }: Pick<OrderCommand, 'scopes'>): number {
    return this.#options.retired.machinesOf(scopes[0]!.cluster);
  }
}

function subjectOf(order: Order, scopes: readonly ControlScope[]): string {
  return scopes.map((scope) => `${order} ${placeOf(scope)}`).join('; ');
}
