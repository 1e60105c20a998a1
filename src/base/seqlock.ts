/**
 * One writer, many readers, no locks: the writer makes a version odd, changes what the version guards, and
 * makes it even again; a reader trusts what it read only between two equal, even reads of the version.
 *
 * The guarded values are read and written with plain accesses, so the versions must keep them in order, and how that is
 * done depends on the processor. x86-64 makes stores visible in the order in which they are made and does not reorder
 * loads, and the engine emits accesses to typed arrays in program order. Plain accesses are enough there; an atomic store
 * would only make the writer wait, twice a write, until all its earlier stores have reached the cache. On ARM64 and
 * others the versions are written atomically, with a second access where one is not enough: an atomic load after an
 * atomic store keeps later plain stores behind both, and an atomic store after plain loads keeps them before it.
 */
type Versions = Int32Array | Uint32Array;

const IS_ORDERED = process.arch === 'x64';

/** `odd` is the version for the duration of the write. */
export function beginWrite(versions: Versions, index: number, odd: number): void {
  if (IS_ORDERED) {
    versions[index] = odd;
    return;
  }
  Atomics.store(versions, index, odd);
  Atomics.load(versions, index);
}

/** `even` must differ from the version before the write. */
export function endWrite(versions: Versions, index: number, even: number): void {
  if (IS_ORDERED) versions[index] = even;
  else Atomics.store(versions, index, even);
}

export function isBeingWritten(version: number): boolean {
  return (version & 1) === 1;
}

/** Only this thread touches this word: the store to it is the barrier between reading and checking. */
const barrierWord = new Int32Array(1);

/** Whether the caller may trust the values it read since it loaded `version`. */
export function isUnchanged(versions: Versions, index: number, version: number): boolean {
  if (!IS_ORDERED) Atomics.store(barrierWord, 0, 0);
  return Atomics.load(versions, index) === version;
}

/** After this many failed tries the writer was most likely suspended in the middle of a write. */
const TRIES_BEFORE_SLEEP = 200;
const sleepWord = new Int32Array(new SharedArrayBuffer(4));

/** Between two tries of a reader: returns at once at first, then sleeps for a millisecond each time. */
export function pauseReader(tries: number): void {
  if (tries >= TRIES_BEFORE_SLEEP) Atomics.wait(sleepWord, 0, 0, 1);
}
