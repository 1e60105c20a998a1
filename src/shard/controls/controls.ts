/**
 * Controls of people over the shard (H1–H8), from the command to the machine: admins command, the book keeps what is in force, and
 * the pauses keep machines and needs from the decision. Data flows in this order only: a change in the book sets the pauses.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import type { ShardOptions } from '../options.ts';
import type { ControlStore } from '../ports/controls.ts';
import { AdminCommands } from './admin-commands.ts';
import { ControlBook } from './control-book.ts';
import { ForeignDrains } from './foreign-drains.ts';
import { Orders, type OrdersOptions } from './orders.ts';
import { Pauses } from './pauses.ts';
import type { RemovalConfirmations } from './removal-confirmations.ts';
import { RetiredClusters, type RetiredClustersOptions } from './retired-clusters.ts';

export interface ControlsOptions
  extends Pick<ShardOptions, 'settings' | 'providers' | 'observer' | 'clock' | 'scheduler' | 'controls'>,
    Pick<OrdersOptions, 'engine' | 'backoffs' | 'reads' | 'hasSession' | 'nextCycle'>,
    Pick<RetiredClustersOptions, 'needs' | 'isFleetKnown' | 'noteAway'> {
  readonly inventory: Inventory;
  /** H3: ends actions that wait and are paused now. */
  readonly removals: RemovalConfirmations;
  readonly withdrawPaused: () => void;
  /** Asks for a cycle, which decides with the new controls. */
  readonly wake: () => void;
}

export interface Controls {
  readonly pauses: Pauses;
  readonly book: ControlBook;
  readonly admin: AdminCommands;
  readonly foreignDrains: ForeignDrains;
  readonly retired: RetiredClusters;
}

/** Of a process without a data directory: controls end with it. */
const NOT_STORED: ControlStore = { write: () => Promise.resolve() };

export function createControls(options: ControlsOptions): Controls {
  const { settings, providers, controls, inventory, withdrawPaused, wake } = options;
  const pauses = new Pauses(inventory, providers.names);
  const book = new ControlBook({
    ...options,
    stored: controls?.stored ?? [],
    declared: settings.controls,
    store: controls?.store ?? NOT_STORED,
    providerNames: providers.names,
    onChange: (inForce) => {
      pauses.set(inForce);
      if (inForce.length > 0) withdrawPaused();
      wake();
    },
  });
  const foreignDrains = new ForeignDrains({
    ...options,
    holdMs: settings.foreignDrainHoldMs,
    refresh: (slot) => pauses.refresh(slot),
  });
  pauses.add(foreignDrains);
  const retired = new RetiredClusters({ ...options, end: (control, detail) => book.end(control, detail) });
  const orders = new Orders({ ...options, book, pauses, retired, providerNames: providers.names });
  const admin = new AdminCommands(book, pauses, options.removals, orders);
  return { pauses, book, admin, foreignDrains, retired };
}
