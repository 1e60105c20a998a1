/** T13 with the real process: health answers beside clients that hold as much as they can. */
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Processes, until } from './processes.ts';

describe('a shard with --health-addr', () => {
  let processes = new Processes();
  afterEach(async () => {
    await processes.end();
    processes = new Processes();
  });

  it('T13: answers probes on both addresses beside 560 half-written requests and pages that are not read', async () => {
    const provider = await processes.provider('--machines', '60');
    const shard = await processes.shard(provider.address, '--health-addr', '127.0.0.1:0');
    const health = await until(
      'its log has the address',
      () => /"health":"(http:[^"]+)"/.exec(shard.program.output.join('\n'))?.[1] ?? '',
      (address) => address !== '',
    );
    await until(
      'it is ready',
      async () => (await fetch(`${health}readyz`)).status,
      (status) => status === 200,
    );
    const port = Number(new URL(shard.http).port);
    const page = 'GET /api/v1/machines?limit=500 HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const sockets = Array.from({ length: 620 }, (_, index) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(index < 560 ? page.slice(0, 20) : page.repeat(200));
      return socket.pause();
    });
    try {
      const statuses: number[] = [];
      for (let probe = 0; probe < 20; probe++) {
        for (const address of [health, shard.http]) {
          const { status } = await fetch(`${address}healthz`, { headers: { connection: 'close' } });
          statuses.push(status);
        }
      }
      expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
      const refused = (metrics: string, reason: string) =>
        Number(
          new RegExp(`flotilla_http_refused_total\\{reason="${reason}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0,
        );
      // Clients of a busy machine connect late, and the hostile ones may hold all requests of their address for a while.
      await until(
        'the refusals are counted',
        async () => (await fetch(`${shard.http}metrics`, { headers: { connection: 'close' } })).text(),
        (metrics) => refused(metrics, 'connections') > 0 && refused(metrics, 'pipelined') > 0,
      );
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    expect((await fetch(`${health}metrics`)).status).toBe(404);
    expect(shard.program.output.filter((line) => line.includes('"http_refused"')).length).toBeLessThanOrEqual(
      5,
    );
  }, 120_000);
});
