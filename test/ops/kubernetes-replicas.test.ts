/** The manifests for two replicas: settings, addresses and ports match, and neither pod is lost with the other. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadShardConfig, type ShardConfig } from '../../src/config/shard-config.ts';

const FILE = join(import.meta.dirname, '../../docs/ops/kubernetes-replicas.yaml');
const documents = parseAllDocuments(readFileSync(FILE, 'utf8'));
const LABELS = { 'app.kubernetes.io/name': 'flotilla-shard', 'app.kubernetes.io/instance': 'shard-0' };
/** SETTLE_MS_MAX of src/cli/shard-service.ts and CLOSE_MS_MAX of src/cli/shard.ts. */
const SETTLE_AND_CLOSE_SECONDS = 7;

interface Port {
  readonly port: number;
}
interface StatefulSet {
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly affinity: {
          readonly podAntiAffinity: {
            readonly requiredDuringSchedulingIgnoredDuringExecution: readonly object[];
          };
        };
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value?: string }[];
            readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
          },
        ];
      };
    };
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  };
}
interface Service {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly publishNotReadyAddresses?: boolean;
    readonly selector: object;
    readonly ports: readonly Port[];
  };
}
interface Budget {
  readonly spec: { readonly maxUnavailable: number; readonly selector: { readonly matchLabels: object } };
}
interface Policy {
  readonly spec: { readonly egress: readonly { readonly ports: readonly Port[] }[] };
}

function ofKind<Kind>(kind: string): Kind[] {
  const all = documents.map((document) => document.toJS() as { readonly kind: string });
  return all.filter((each) => each.kind === kind) as unknown as Kind[];
}

const [set] = ofKind<StatefulSet>('StatefulSet') as [StatefulSet];
const pod = set.spec.template.spec;
const services = new Map(ofKind<Service>('Service').map((service) => [service.metadata.name, service.spec]));

/** The settings of one pod. */
function configOf(podName: string): ShardConfig {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-k8s-'));
  try {
    const [{ data }] = ofKind<{ data: Record<string, string> }>('ConfigMap') as [
      { data: Record<string, string> },
    ];
    writeFileSync(join(folder, 'shard.yaml'), data['shard.yaml']!);
    const environment = Object.fromEntries(
      pod.containers[0].env.map(({ name, value }) => [
        name,
        value === undefined ? podName : value.replace('$(FLOTILLA_REPLICA)', podName),
      ]),
    );
    return loadShardConfig({ argv: [`--config=${join(folder, 'shard.yaml')}`], environment }).config;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('docs/ops/kubernetes-replicas.yaml', () => {
  it('is valid YAML', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it('starts replicas that know their etcd, their own name, and an address at which the other one reaches them', () => {
    const config = configOf('flotilla-shard-0-1');
    expect(config.replica).toBe('flotilla-shard-0-1');
    expect(config.directory?.members).toHaveLength(3);
    const peers = services.get(set.spec.serviceName)!;
    expect(peers).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    const host = `flotilla-shard-0-1.${set.spec.serviceName}.flotilla.svc.cluster.local`;
    expect(config.advertiseAddr).toBe(`${host}:${config.listen.port}`);
    expect(config.tls).not.toBeNull();
  });

  it('lets the policy pass the providers, the directory and the other replica', () => {
    const config = configOf('flotilla-shard-0-0');
    const [{ spec }] = ofKind<Policy>('NetworkPolicy') as [Policy];
    const allowed = spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port));
    const portOf = (address: string) => Number(address.slice(address.lastIndexOf(':') + 1));
    const dialled = [...config.providers.map(({ address }) => address), ...config.directory!.members];
    for (const address of [...dialled, config.advertiseAddr])
      expect(allowed, address).toContain(portOf(address));
  });

  it('runs two pods on different nodes, each with a volume, of which one at a time may be evicted', () => {
    expect(set.spec.replicas).toBe(2);
    expect(set.spec.volumeClaimTemplates.map(({ metadata }) => metadata.name)).toEqual(['data']);
    expect(pod.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: LABELS } },
    ]);
    const [{ spec: budget }] = ofKind<Budget>('PodDisruptionBudget') as [Budget];
    expect(budget).toEqual({ maxUnavailable: 1, selector: { matchLabels: LABELS } });
    expect(set.spec.template.metadata.labels).toEqual(LABELS);
    for (const { selector } of services.values()) expect(selector).toEqual(LABELS);
  });

  it('sends operators to pods that are ready, and gives a pod time to hand over', () => {
    expect(services.get('flotilla-shard-0')!.publishNotReadyAddresses).toBeUndefined();
    const graceSeconds = configOf('flotilla-shard-0-0').shutdownGraceMs / 1_000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(graceSeconds + SETTLE_AND_CLOSE_SECONDS);
  });
});
