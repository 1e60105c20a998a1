/** T14: when certificates expire, and whether their files can be used. */
import type { Registry } from 'prom-client';
import { counterFrom, gaugeFrom } from './families.ts';

/** The TLS files in use. */
export interface TlsFacts {
  readonly files: readonly {
    readonly file: string;
    readonly validFromMs: number;
    readonly expiresMs: number;
  }[];
  readonly reloadFailures: number;
  /** The files on disk cannot be used, so the last good ones are. */
  readonly isFailing: boolean;
}

export function tlsMetrics(registry: Registry, tls: () => TlsFacts | null): void {
  const times = (read: (file: TlsFacts['files'][number]) => number) => () =>
    tls()?.files.map((file) => ({ labels: { file: file.file }, value: read(file) / 1_000 })) ?? null;
  gaugeFrom(
    registry,
    {
      name: 'flotilla_tls_expiry_timestamp_seconds',
      help: 'Unix time at which the certificate in use expires, by file: certificate or ca (the first of the file to expire).',
    },
    times(({ expiresMs }) => expiresMs),
    ['file'],
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_tls_valid_from_timestamp_seconds',
      help: 'Unix time from which the certificate in use is valid, by file.',
    },
    times(({ validFromMs }) => validFromMs),
    ['file'],
  );
  counterFrom(
    registry,
    {
      name: 'flotilla_tls_reload_failures_total',
      help: 'Changed TLS files that the shard could not use, so that the last good ones stayed in use.',
    },
    () => tls()?.reloadFailures ?? null,
  );
  gaugeFrom(
    registry,
    {
      name: 'flotilla_tls_reload_failing',
      help: '1 while the TLS files on disk cannot be used and the shard uses those that it read before.',
    },
    () => tls()?.isFailing ?? null,
  );
}
