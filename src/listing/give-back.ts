/**
 * Memory of a large buffer back to the system, now. A buffer that nobody holds goes with the next full collection of its
 * thread, and a thread whose objects are few may have none for minutes: hundreds of megabytes would wait for it. A
 * buffer that is moved to a port which is closed belongs to nobody, and is freed at once.
 */

/** Smaller ones are not worth a message. */
const GIVEN_BACK_BYTES_MIN = 1 << 20;

/** The whole buffer behind this; whoever still looks at any of it sees nothing from now on. */
export function giveBack({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < GIVEN_BACK_BYTES_MIN) return;
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(null, [buffer]);
  port1.close();
  port2.close();
}
