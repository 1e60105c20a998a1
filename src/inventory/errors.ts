/** Why the inventory refuses a write. A refused write changes nothing. */
import { ShardError } from '../base/errors.ts';

export class DuplicateIdError extends ShardError {
  readonly code = 'duplicate_id';
  readonly next = 'reject-input';

  constructor(machineId: string) {
    super(
      `Machine ${JSON.stringify(machineId)} is in the inventory already; an id is one machine's for life. ` +
        'The second one was refused; the first stays as it was.',
    );
  }
}

export class InventoryFullError extends ShardError {
  readonly code = 'inventory_full';
  readonly next = 'reject-input';

  constructor(what: string, limit: number) {
    super(
      `The inventory is full: all ${limit} ${what} are in use. The machine was refused and nothing was changed; ` +
        'start the shard with a larger --max-machines.',
    );
  }
}

export class WrongSlotError extends ShardError {
  readonly code = 'wrong_slot';
  readonly next = 'retry-next-cycle';

  constructor(slot: number, why: string) {
    super(
      `Slot ${slot} ${why}: the machine that was meant is gone. ` +
        'Nothing was changed; look the machine up by its id again.',
    );
  }
}

export class IntentRefusedError extends ShardError {
  readonly code = 'intent_refused';
  readonly next = 'retry-next-cycle';

  constructor(machineId: string, why: string) {
    super(
      `Machine ${JSON.stringify(machineId)} takes no such action: ${why}. ` +
        'Nothing was changed; the next cycle decides on what is then known.',
    );
  }
}
