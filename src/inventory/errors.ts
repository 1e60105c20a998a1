/** Why the inventory refuses a write. A refused write changes nothing. */
import { ShardError } from '../base/errors.ts';

export class DuplicateIdError extends ShardError {
  readonly code = 'duplicate_id';
  readonly next = 'reject-input';

  constructor(machineId: string) {
    super(
      `Machine ${JSON.stringify(machineId)} is in the inventory already, and two machines cannot share an id. ` +
        'The shard refused the second record and kept the first. Give each machine its own id at the provider.',
    );
  }
}

export class InventoryFullError extends ShardError {
  readonly code = 'inventory_full';
  readonly next = 'reject-input';

  constructor(what: string, limit: number) {
    super(
      `The inventory is full: all ${limit} ${what} are in use. The shard refused the machine and changed nothing. ` +
        'Start the shard with a larger --max-machines.',
    );
  }
}

export class WrongSlotError extends ShardError {
  readonly code = 'wrong_slot';
  readonly next = 'retry-next-cycle';

  constructor(slot: number, why: string) {
    super(
      `Slot ${slot} ${why}: the expected machine was removed. ` +
        'The shard changed nothing. Look the machine up by its id again.',
    );
  }
}

export class IntentRefusedError extends ShardError {
  readonly code = 'intent_refused';
  readonly next = 'retry-next-cycle';

  constructor(machineId: string, why: string) {
    super(
      `Machine ${JSON.stringify(machineId)} takes no such action: ${why}. ` +
        'The shard changed nothing; the next cycle decides again.',
    );
  }
}
