import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { Processes } from './processes.ts';

const processes = new Processes();
afterEach(() => processes.end());

it('a shard that dials IP addresses with TLS writes only JSON lines to its log', async () => {
  const folder = processes.folder();
  const authority = makeAuthority();
  const leaf = issue(authority, { ip: ['127.0.0.1'], uri: ['bigfleet://shard/shard-0'] });
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const tls = [
    ...['--tls-cert', file('tls.crt', leaf.certificate)],
    ...['--tls-key', file('tls.key', leaf.privateKey)],
    ...['--tls-ca', file('ca.crt', authority.pem)],
  ];
  const { address } = await processes.provider('--machines', '10', ...tls);
  expect(address).toMatch(/^127\.0\.0\.1:/);
  // The coordinator's channel dials the provider, which refuses its reports after the handshake.
  const shard = await processes.shard(address, '--coordinator-addr', address, ...tls);
  // Ready: the shard has listed the provider, so a handshake by IP address has succeeded.
  await vi.waitFor(async () => expect((await fetch(`${shard.http}readyz`)).status).toBe(200), {
    timeout: 60_000,
    interval: 100,
  });
  await vi.waitFor(() => expect(shard.program.output.join('\n')).toContain('coordinator_lost'), {
    timeout: 60_000,
  });
  const [first, ...log] = shard.program.output;
  expect(first).toContain('listening on');
  expect(log.length).toBeGreaterThan(0);
  expect(log.filter((line) => !line.startsWith('{"'))).toEqual([]);
}, 180_000);
