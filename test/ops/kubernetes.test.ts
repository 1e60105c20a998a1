/** The Kubernetes manifests: a shard starts with their settings, and names, ports and paths match. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadShardConfig, type ShardConfig } from '../../src/config/shard-config.ts';
import { HttpServer } from '../../src/observe/http.ts';
import { createLogger } from '../../src/observe/log.ts';

const FILE = join(import.meta.dirname, '../../docs/ops/kubernetes.yaml');
const documents = parseAllDocuments(readFileSync(FILE, 'utf8'));

interface Labels {
  readonly matchLabels: Readonly<Record<string, string>>;
}
interface Port {
  readonly port: number;
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface StatefulSet {
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly selector: Labels;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  };
}
interface Service {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
  };
}
interface NetworkPolicy {
  readonly spec: {
    readonly podSelector: Labels;
    readonly ingress: readonly { readonly ports: readonly Port[]; readonly from?: readonly object[] }[];
  };
}

function ofKind<Kind>(kind: string): Kind[] {
  return documents
    .map((document) => document.toJS() as { kind: string } & Kind)
    .filter((each) => each.kind === kind);
}

const [{ spec: set }] = ofKind<StatefulSet>('StatefulSet') as [StatefulSet];
const pod = set.template.spec;
const [shard] = pod.containers;
const [{ data }] = ofKind<{ data: Record<string, string> }>('ConfigMap') as [
  { data: Record<string, string> },
];
const services = ofKind<Service>('Service');
const mountOf = (name: string) => shard.volumeMounts.find((mount) => mount.name === name)!.mountPath;
/** CLOSE_MS_MAX of src/cli/shard.ts. */
const CLOSE_SECONDS = 5;

/** Loads the settings with the container's arguments, with the file in a temporary folder. */
function configOfPod(): ShardConfig {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-k8s-'));
  try {
    for (const [name, text] of Object.entries(data)) writeFileSync(join(folder, name), text);
    const [command, ...flags] = shard.args.map((word) => word.replace(mountOf('config'), folder));
    expect(command).toBe('shard');
    return loadShardConfig({ argv: flags, environment: {} }).config;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('docs/ops/kubernetes.yaml', () => {
  it('is valid YAML', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it('has settings that start a shard with TLS for its sessions', () => {
    const config = configOfPod();
    expect(config.tls?.certificatePath).toBe(`${mountOf('tls')}/tls.crt`);
    expect(config.listen.host).toBe('0.0.0.0');
    expect(config.providers).toHaveLength(1);
  });

  it('uses the ports of the settings in the container, the services and the policy', () => {
    const { listen, metricsAddr, healthAddr } = configOfPod();
    const ports = [listen.port, metricsAddr!.port];
    expect(shard.ports.map(({ containerPort }) => containerPort)).toEqual([...ports, healthAddr!.port]);
    expect(services.flatMap(({ spec }) => spec.ports.map(({ port }) => port))).toEqual(ports);
    const names = services.flatMap(({ spec }) => spec.ports.map(({ targetPort }) => targetPort));
    expect(names).toEqual(['sessions', 'http']);
    expect(shard.ports.map(({ name }) => name)).toEqual([...names, 'health']);
    const [{ spec: policy }] = ofKind<NetworkPolicy>('NetworkPolicy') as [NetworkPolicy];
    expect(policy.ingress.flatMap((rule) => rule.ports.map(({ port }) => port))).toEqual(ports);
    expect(policy.ingress[1]!.from, 'plaintext is for some only').toHaveLength(1);
    expect(policy.podSelector.matchLabels).toEqual(set.template.metadata.labels);
  });

  it('probes paths that the shard answers', async () => {
    const log = createLogger({ level: 'error', format: 'json', fields: {} });
    const http = await HttpServer.listen({
      host: '127.0.0.1',
      port: 0,
      scrape: async () => ({ body: '', contentType: 'text/plain' }),
      readiness: () => ({ isReady: true, reason: '' }),
      log,
    });
    const probes = [shard.startupProbe, shard.livenessProbe, shard.readinessProbe];
    const scraped = services.flatMap(({ metadata }) => metadata.annotations?.['prometheus.io/path'] ?? []);
    const paths = [...probes.map(({ httpGet }) => httpGet.path), ...scraped];
    expect(paths).toEqual(['/healthz', '/healthz', '/readyz', '/metrics']);
    for (const path of paths)
      expect((await fetch(`http://127.0.0.1:${http.port}${path}`)).status, path).toBe(200);
    await http.close();
    // T13: probes wait behind no other client.
    expect(probes.map(({ httpGet }) => httpGet.port)).toEqual(['health', 'health', 'health']);
  });

  it('allows the host names that its services use', () => {
    const { metricsHost } = configOfPod();
    const [, http] = services;
    expect(metricsHost).toEqual([`${http!.metadata.name}.flotilla.svc.cluster.local`]);
  });

  it('runs one pod per shard id, which services find, which keeps its volume and has time to stop', () => {
    const config = configOfPod();
    expect(set.replicas).toBe(1);
    expect(services[0]!.metadata.name).toBe(set.serviceName);
    for (const { spec } of services) expect(spec.selector).toEqual(set.template.metadata.labels);
    expect(set.selector.matchLabels).toEqual(set.template.metadata.labels);
    const volumes = [...pod.volumes, ...set.volumeClaimTemplates.map(({ metadata }) => metadata)];
    expect(shard.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.map(({ name }) => name).sort());
    const dockerfile = readFileSync(join(FILE, '../Dockerfile'), 'utf8');
    expect(dockerfile).toContain(`VOLUME ${mountOf('data')}\n`);
    expect(dockerfile).toContain(`USER ${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}\n`);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(config.shutdownGraceMs / 1000 + CLOSE_SECONDS);
  });
});
