import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { environmentNameOf, flagOf } from '../../src/config/setting.ts';
import { loadShardConfig } from '../../src/config/shard-config.ts';
import { SHARD_SETTING_GROUPS, SHARD_SETTINGS } from '../../src/config/shard-settings.ts';
import { configurationPage, printConfig, shardHelpText } from '../../src/config/texts.ts';
import { fileOf, load } from './load.ts';

const FLAGS = Object.entries(SHARD_SETTINGS).map(([field, setting]) => flagOf(field, setting));

/** Public names: renaming a field must not rename a flag. */
const PROMISED_FLAGS =
  `listen metrics-addr health-addr insecure id data-dir provider-addr provider-optional provider-id-prefix unassigned-bindings tenant-table-share provider-table-reserve coordinator-addr
  advertise-addr coordinator-heartbeat-interval max-actions-per-cycle execute-concurrency incremental-reconcile
  available-capacity-interval actuation-paused dry-run reclaim-cap-fraction preemption-cap-fraction burn-fraction empty-rollup-guard audit-log max-history-bytes local-bootstrap
  tls-cert tls-key tls-ca tls-denied admin-over-tls controls max-connection-age cycle-interval full-list-every relist-after-loss removal-hold vanishing-hold foreign-drain-hold max-machines idle-hold-on-demand idle-hold-spot bootstrap-timeout
  execute-timeout stall-after stuck-after shutdown-grace min-epoch max-list-bytes keepalive-timeout log-level log-format workers
  from-scratch-check-every placement placement-offer-margin team spending-history preemption-weight-gap preemption-weight-drain preemption-weight-interruption
  preemption-weight-reclamation metrics-host tenants ceilings disruption-budgets directory directory-tls-cert directory-tls-key directory-tls-ca
  fleet replica lease standby`.split(/\s+/);

describe('the table of settings', () => {
  it('has exactly the public flags', () => {
    expect([...FLAGS].sort()).toEqual([...PROMISED_FLAGS].sort());
  });

  it('derives the variable from the flag', () => {
    expect(environmentNameOf('cycle-interval')).toBe('FLOTILLA_CYCLE_INTERVAL');
  });

  it('has every setting in exactly one group', () => {
    const grouped = SHARD_SETTING_GROUPS.flatMap(({ settings }) => Object.keys(settings));
    expect(grouped).toHaveLength(new Set(grouped).size);
    expect(grouped.sort()).toEqual(Object.keys(SHARD_SETTINGS).sort());
  });

  it('H11: reloads rails, limits, holds, timeouts of calls, self-checks and the log, and nothing else', () => {
    const reloadable = Object.entries(SHARD_SETTINGS).filter(([, setting]) => setting.isReloadable);
    expect(reloadable.map(([field]) => field)).toEqual([
      'fullListEvery',
      'relistAfterLossMs',
      'removalHoldMs',
      'vanishingHoldMs',
      'idleHoldOnDemandMs',
      'idleHoldSpotMs',
      'fromScratchCheckEvery',
      'actuationPaused',
      'dryRun',
      'maxActionsPerCycle',
      'reclaimCapFraction',
      'preemptionCapFraction',
      'burnFraction',
      'emptyRollupGuard',
      'tenants',
      'ceilings',
      'disruptionBudgets',
      'controls',
      'executeTimeoutMs',
      'bootstrapTimeoutMs',
      'stuckAfterMs',
      'shutdownGraceMs',
      'logLevel',
      'logFormat',
    ]);
  });

  it('has valid defaults that survive formatting and parsing', () => {
    for (const [field, setting] of Object.entries(SHARD_SETTINGS)) {
      const value = setting.defaultValue({ coreCount: 4 });
      expect(setting.parse(setting.format(value as never)), field).toEqual(value);
    }
  });
});

describe('the texts', () => {
  it('match docs/configuration.md, which npm run docs writes', () => {
    const path = join(import.meta.dirname, '../../docs/configuration.md');
    expect(readFileSync(path, 'utf8')).toBe(configurationPage());
  });

  it('list every flag in --help, in lines of at most 118 characters', () => {
    const help = shardHelpText();
    for (const flag of FLAGS) expect(help).toContain(`  --${flag}`);
    expect(help.split('\n').filter((line) => line.length > 118)).toEqual([]);
  });

  it('print every value with its source', () => {
    const text = printConfig(load({ argv: ['--dry-run'], environment: { FLOTILLA_ID: 'shard-7' } }));
    expect(text).toMatch(/^cycle-interval: 10s +# default$/m);
    expect(text).toMatch(/^dry-run: true +# --dry-run$/m);
    expect(text).toMatch(/^id: shard-7 +# FLOTILLA_ID$/m);
    expect(text).toMatch(/^provider-addr: \["rack-a=10.0.0.7:7790"\] +# --provider-addr$/m);
  });

  it('print a config file that loads to the same settings, for any settings', () => {
    const words = fc.record({
      id: fc.constantFrom('a', 'null', 'true', '10', '0x10', '1e3', 'x.y-z'),
      'cycle-interval': fc.integer({ min: 50, max: 3_600_000 }).map((valueMs) => `${valueMs}ms`),
      'reclaim-cap-fraction': fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value.toFixed(12)),
      'audit-log': fc.string({ unit: 'grapheme', maxLength: 20 }).filter((path) => !/\0/.test(path)),
      'dry-run': fc.boolean().map(String),
      'metrics-addr': fc.constantFrom('0', '127.0.0.1:0', '[::1]:99', 'localhost:8780'),
      'max-list-bytes': fc.integer({ min: 1_048_576, max: 2_147_483_648 }).map(String),
    });
    fc.assert(
      fc.property(words, (given) => {
        const argv = Object.entries(given).map(([flag, text]) => `--${flag}=${text}`);
        const { config } = load({ argv });
        const path = fileOf(printConfig(load({ argv })));
        const again = loadShardConfig({ argv: ['--config', path], environment: {} });
        expect(again.config).toEqual(config);
      }),
      { numRuns: 60 },
    );
  });
});
