/**
 * Returns the memory of a large buffer to the system at once. An unreferenced buffer normally waits for the next full
 * collection of its thread, and a thread with few objects may have none for minutes. A buffer that is transferred to a
 * port which then closes has no owner and is freed immediately.
 */

/** Smaller ones are not worth a message. */
const GIVEN_BACK_BYTES_MIN = 1 << 20;

/** Gives back the whole buffer behind this array; every other view of it is empty from now on. */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < GIVEN_BACK_BYTES_MIN) return;
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(null, [buffer]);
  port1.close();
  port2.close();
}
