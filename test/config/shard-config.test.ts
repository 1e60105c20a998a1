import { describe, expect, it } from 'vitest';
import { loadShardConfig, reloadShardConfig } from '../../src/config/shard-config.ts';
import { fileOf, linesOf, load, PROVIDER } from './load.ts';

describe('the settings of a shard', () => {
  it('have the documented defaults', () => {
    const { config } = load();
    expect(config).toMatchObject({
      listen: { host: '127.0.0.1', port: 7780, text: '127.0.0.1:7780' },
      metricsAddr: { host: '127.0.0.1', port: 8780 },
      insecure: false,
      id: 'shard-0',
      dataDir: './data',
      providers: [{ name: 'rack-a', address: '10.0.0.7:7790' }],
      optionalProviders: [],
      coordinatorAddr: '',
      advertiseAddr: '',
      coordinatorHeartbeatIntervalMs: 10_000,
      maxActionsPerCycle: 0,
      executeConcurrency: 256,
      incrementalReconcile: false,
      availableCapacityIntervalMs: 5_000,
      actuationPaused: false,
      dryRun: false,
      reclaimCapFraction: 0.05,
      preemptionCapFraction: 0.2,
      burnFraction: 0.1,
      emptyRollupGuard: true,
      auditLog: '',
      localBootstrap: false,
      tls: null,
      cycleIntervalMs: 10_000,
      fullListEvery: 360,
      relistAfterLossMs: 60_000,
      removalHoldMs: 60_000,
      vanishingHoldMs: 600_000,
      maxMachines: 1_048_576,
      idleHoldOnDemandMs: 600_000,
      idleHoldSpotMs: 60_000,
      bootstrapTimeoutMs: 30_000,
      executeTimeoutMs: 30_000,
      stallAfterMs: 2_000,
      stuckAfterMs: 900_000,
      shutdownGraceMs: 10_000,
      minEpoch: 0,
      maxListBytes: 1_073_741_824,
      teams: [],
      spendingHistory: true,
      placement: 'cheapest',
      placementOfferMargin: 0.2,
      preemptionWeightGap: 1,
      preemptionWeightDrain: 0.1,
      preemptionWeightInterruption: 0.1,
      preemptionWeightReclamation: 0.1,
      keepaliveTimeoutMs: 30_000,
      logLevel: 'info',
      logFormat: 'json',
      fromScratchCheckEvery: 360,
    });
  });

  for (const [coreCount, workers] of [
    [1, 1],
    [2, 1],
    [8, 7],
  ] as const) {
    it(`default to ${workers} threads on ${coreCount} cores`, () => {
      expect(load({ coreCount }).config.workers).toBe(workers);
    });
  }

  it('are frozen, lists and addresses included', () => {
    const { config } = load();
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.providers)).toBe(true);
    expect(Object.isFrozen(config.providers[0])).toBe(true);
    expect(Object.isFrozen(config.listen)).toBe(true);
  });

  it('come from flag, environment, file and default, in this order of precedence', () => {
    const path = fileOf('cycle-interval: 3s\nid: from-file\nmax-machines: 3000\n');
    const { config, origins } = load({
      argv: ['--config', path, '--cycle-interval=1s'],
      environment: { FLOTILLA_CYCLE_INTERVAL: '2s', FLOTILLA_ID: 'from-environment' },
    });
    expect([config.cycleIntervalMs, config.id, config.maxMachines, config.logLevel]).toEqual([
      1_000,
      'from-environment',
      3_000,
      'info',
    ]);
    expect([origins.cycleIntervalMs, origins.id, origins.maxMachines, origins.logLevel]).toEqual([
      '--cycle-interval',
      'FLOTILLA_ID',
      `${path}:3`,
      'default',
    ]);
  });

  it('are read from a file that FLOTILLA_CONFIG names', () => {
    const path = fileOf(
      '{"id": "json-too", "dry-run": true, "provider-addr": ["b=h:1", "c=h:2"]}',
      'shard.json',
    );
    const { config } = loadShardConfig({ argv: [], environment: { FLOTILLA_CONFIG: path } });
    expect(config).toMatchObject({ id: 'json-too', dryRun: true });
    expect(config.providers.map(({ name }) => name)).toEqual(['b', 'c']);
  });

  for (const [argv, expected] of [
    [['--dry-run'], true],
    [['--dry-run=true'], true],
    [['--dry-run=false'], false],
    [['--dry-run', '--insecure'], true],
  ] as const) {
    it(`read ${argv.join(' ')} as a switch`, () => expect(load({ argv }).config.dryRun).toBe(expected));
  }

  it('turn off a switch that is on by default', () => {
    expect(load({ argv: ['--empty-rollup-guard=false'] }).config.emptyRollupGuard).toBe(false);
  });

  it('take a list as a repeated flag, or separated by commas in the environment', () => {
    const { config } = loadShardConfig({
      argv: ['--provider-addr', 'host.example:1', '--provider-addr=[::1]:2', '--provider-addr', 'c=h:3'],
      environment: { FLOTILLA_PROVIDER_OPTIONAL: 'c, host.example-1' },
    });
    expect(config.providers).toEqual([
      { name: 'host.example-1', address: 'host.example:1' },
      { name: '1-2', address: '[::1]:2' },
      { name: 'c', address: 'h:3' },
    ]);
    expect(config.optionalProviders).toEqual(['c', 'host.example-1']);
  });

  it('turn the HTTP server off with 0, and listen on all interfaces without a host', () => {
    const { config } = load({ argv: ['--metrics-addr', '0', '--listen', ':7780', '--insecure'] });
    expect(config.metricsAddr).toBeNull();
    expect(config.listen).toEqual({ host: '0.0.0.0', port: 7780, text: '0.0.0.0:7780' });
  });

  it('combine the three TLS files into one object', () => {
    const { config } = load({
      argv: ['--tls-cert=c.pem', '--tls-key=k.pem', '--tls-ca=ca.pem', '--listen=0.0.0.0:1'],
    });
    expect(config.tls).toEqual({ certificatePath: 'c.pem', privateKeyPath: 'k.pem', caPath: 'ca.pem' });
  });

  it('are not checked with --help', () => {
    for (const word of ['--help', '-h']) {
      const { asked } = loadShardConfig({ argv: [word, '--nonsense', '--dry-run=maybe'], environment: {} });
      expect(asked).toBe('help');
    }
  });
});

describe('reloading the settings', () => {
  it('applies rails and log level, and names what needs a restart', () => {
    const before = load({ argv: ['--config', fileOf('cycle-interval: 5s\n')] });
    const after = fileOf(
      'cycle-interval: 7s\nactuation-paused: true\nreclaim-cap-fraction: 0.5\nlog-level: debug\n',
    );
    const { loaded, applied, needRestart } = reloadShardConfig(before, {
      argv: [...PROVIDER, '--config', after],
      environment: {},
      coreCount: 4,
    });
    expect(applied).toEqual([
      { flag: 'actuation-paused', from: 'false', to: 'true' },
      { flag: 'reclaim-cap-fraction', from: '0.05', to: '0.5' },
      { flag: 'log-level', from: 'info', to: 'debug' },
    ]);
    expect(needRestart).toEqual([{ flag: 'cycle-interval', from: '5s', to: '7s' }]);
    expect(loaded.config).toMatchObject({ cycleIntervalMs: 5_000, actuationPaused: true, logLevel: 'debug' });
    expect(loaded.origins.actuationPaused).toBe(`${after}:2`);
    expect(Object.isFrozen(loaded.config)).toBe(true);
  });

  it('changes nothing if a setting is invalid', () => {
    const before = load();
    const path = fileOf('log-level: loud\n');
    const argv = [...PROVIDER, '--config', path];
    expect(linesOf(() => reloadShardConfig(before, { argv, environment: {} }))).toHaveLength(1);
    expect(before.config.logLevel).toBe('info');
  });
});
