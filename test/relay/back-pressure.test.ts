import { type ClientHttp2Stream, createServer, type ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { HostileClient, SESSION_PATH } from '../session/hostile-client.ts';
import { closeAfterwards } from '../session/rig.ts';
import { startStandby } from './rig.ts';

/** Windows and buffers of two HTTP/2 streams and their sockets; the test sends 12 MiB. */
const BUFFERED_MAX = 4 * 1024 * 1024;
const CHUNK = Buffer.alloc(64 * 1024, 7);
const CHUNKS = 192;

async function activeThat(serve: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    serve(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterwards(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as { port: number }).port}`;
}

function openSession(address: string): ClientHttp2Stream {
  const stream = new HostileClient(address).session.request(
    { ':method': 'POST', ':path': SESSION_PATH },
    { endStream: false },
  );
  stream.on('error', () => {});
  return stream;
}

/** Writes as long as the other side takes it; returns how much that was. */
function writeAll(stream: {
  write(chunk: Buffer): boolean;
  once(event: 'drain', then: () => void): unknown;
}) {
  const state = { bytes: 0 };
  const more = () => {
    while (state.bytes < CHUNK.length * CHUNKS) {
      state.bytes += CHUNK.length;
      if (!stream.write(CHUNK)) {
        stream.once('drain', more);
        return;
      }
    }
  };
  more();
  return state;
}

describe('back-pressure through a relay', () => {
  it('F6: stops the active replica while the client does not read, and loses nothing', async () => {
    let sent = { bytes: 0 };
    const standby = await startStandby();
    standby.board.show(
      await activeThat((stream) => {
        sent = writeAll(stream);
      }),
    );
    const stream = openSession(standby.server.address);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(sent.bytes).toBeGreaterThan(0);
    expect(sent.bytes).toBeLessThan(BUFFERED_MAX);
    let received = 0;
    stream.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    await expect.poll(() => received, { timeout: 30_000 }).toBe(CHUNK.length * CHUNKS);
  });

  it('F6: stops the client while the active replica does not read, and loses nothing', async () => {
    let reading: ServerHttp2Stream | null = null;
    const standby = await startStandby();
    standby.board.show(
      await activeThat((stream) => {
        stream.pause();
        reading = stream;
      }),
    );
    const stream = openSession(standby.server.address);
    stream.resume();
    const sent = writeAll(stream);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(sent.bytes).toBeLessThan(BUFFERED_MAX);
    let received = 0;
    reading!.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    reading!.resume();
    await expect.poll(() => received, { timeout: 30_000 }).toBe(CHUNK.length * CHUNKS);
  });
});
