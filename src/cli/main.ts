#!/usr/bin/env node
/** `flotilla`: runs a command. Each command is a module that is loaded on demand, so that help starts quickly. */
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { EXIT_USAGE } from './exit.ts';
import { versionOf } from './version.ts';

interface Command {
  readonly name: string;
  readonly summary: string;
  readonly run: (argv: readonly string[]) => Promise<number>;
}

const COMMANDS: readonly Command[] = [
  {
    name: 'up',
    summary: 'run a demo: a shard with a simulated provider and simulated clusters',
    run: async (argv) => (await import('./up.ts')).run(argv),
  },
  {
    name: 'shard',
    summary: 'run a shard',
    run: async (argv) => (await import('./shard.ts')).run(argv),
  },
  {
    name: 'top',
    summary: 'watch a running shard: machines, cost and shortfalls',
    run: async (argv) => (await import('./top.ts')).run(argv),
  },
  {
    name: 'needs',
    summary: 'list the needs of the clusters and their verdicts',
    run: async (argv) => (await import('./needs.ts')).run(argv),
  },
  {
    name: 'machines',
    summary: 'list machines, with filters',
    run: async (argv) => (await import('./machines.ts')).run(argv),
  },
  {
    name: 'clusters',
    summary: 'list clusters: session, demand and machines',
    run: async (argv) => (await import('./clusters.ts')).run(argv),
  },
  {
    name: 'providers',
    summary: 'list providers: machines, listings, calls and back-offs',
    run: async (argv) => (await import('./providers.ts')).run(argv),
  },
  {
    name: 'offerings',
    summary: 'list offerings: machines, prices and back-offs',
    run: async (argv) => (await import('./offerings.ts')).run(argv),
  },
  {
    name: 'gangs',
    summary: 'list gangs: needs whose machines must share a domain',
    run: async (argv) => (await import('./gangs.ts')).run(argv),
  },
  {
    name: 'shards',
    summary: 'list shards and their replicas, and what keeps them from their work',
    run: async (argv) => (await import('./shards.ts')).run(argv),
  },
  {
    name: 'actions',
    summary: 'follow the actions of a shard',
    run: async (argv) => (await import('./actions.ts')).run(argv),
  },
  {
    name: 'history',
    summary: 'print what happened to a machine, a need, a cluster or an offering, and why',
    run: async (argv) => (await import('./history.ts')).run(argv),
  },
  {
    name: 'tenants',
    summary: 'list clusters and providers: what they use, what was refused and why',
    run: async (argv) => (await import('./tenants.ts')).run(argv),
  },
  {
    name: 'explain',
    summary: 'explain a need, a gang, a machine, a cluster, a provider, an offering or the shard',
    run: async (argv) => (await import('./explain.ts')).run(argv),
  },
  {
    name: 'what-if',
    summary: 'tell what would happen without machines, with other demand, prices or settings',
    run: async (argv) => (await import('./what-if.ts')).run(argv),
  },
  {
    name: 'pause',
    summary: 'tell a running shard what it must not do, where and for how long',
    run: async (argv) => (await import('./pause.ts')).run(argv),
  },
  {
    name: 'resume',
    summary: 'lift a pause',
    run: async (argv) => (await import('./resume.ts')).run(argv),
  },
  {
    name: 'drain',
    summary: 'make machines leave once others have replaced them',
    run: async (argv) => (await import('./drain.ts')).run(argv),
  },
  {
    name: 'cordon',
    summary: 'keep machines for what they serve, and for nothing else',
    run: async (argv) => (await import('./cordon.ts')).run(argv),
  },
  {
    name: 'uncordon',
    summary: 'lift a cordon or a drain',
    run: async (argv) => (await import('./uncordon.ts')).run(argv),
  },
  {
    name: 'release',
    summary: 'give Idle machines back to their providers',
    run: async (argv) => (await import('./release.ts')).run(argv),
  },
  {
    name: 'retry',
    summary: 'end the back-off of machines that failed',
    run: async (argv) => (await import('./retry.ts')).run(argv),
  },
  {
    name: 'retire-cluster',
    summary: 'say that a cluster is gone for good',
    run: async (argv) => (await import('./retire-cluster.ts')).run(argv),
  },
  {
    name: 'controls',
    summary: 'list what people told a running shard, and what that holds back',
    run: async (argv) => (await import('./controls.ts')).run(argv),
  },
  {
    name: 'budgets',
    summary: 'list disruption budgets: what is used, and when they open',
    run: async (argv) => (await import('./budgets.ts')).run(argv),
  },
  {
    name: 'confirm-removal',
    summary: 'confirm that machines which a held listing lacks are gone',
    run: async (argv) => (await import('./confirm-removal.ts')).run(argv),
  },
  {
    name: 'fleet',
    summary: 'list the shards of a fleet, their clusters and their domains',
    run: async (argv) => (await import('./fleet.ts')).run(argv),
  },
  {
    name: 'provider',
    summary: 'run a simulated provider as a gRPC server',
    run: async (argv) => (await import('./provider.ts')).run(argv),
  },
  {
    name: 'processes',
    summary: 'run a provider whose machines are processes on this host',
    run: async (argv) => (await import('./processes.ts')).run(argv),
  },
  {
    name: 'operators',
    summary: 'run simulated clusters that ask a shard for machines',
    run: async (argv) => (await import('./operators.ts')).run(argv),
  },
  {
    name: 'conformance',
    summary: 'test whether a provider fulfils the contract',
    run: async (argv) => (await import('./conformance.ts')).run(argv),
  },
  {
    name: 'profile',
    summary: 'summarise CPU profiles of a shard and its threads',
    run: async (argv) => (await import('./profile.ts')).run(argv),
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    run: async (argv) => (await import('./completion.ts')).run(argv, COMMANDS),
  },
];

export function helpText(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}   ${summary}`);
  return [
    'Usage: flotilla COMMAND [options]',
    '',
    ...lines,
    `  ${'version'.padEnd(width)}   print the version`,
    '',
    'Run flotilla COMMAND --help for the options of a command.',
    '',
  ].join('\n');
}

/** Resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    (name === undefined ? process.stderr : process.stdout).write(helpText());
    return name === undefined ? EXIT_USAGE : 0;
  }
  if (name === 'version' || name === '--version') {
    process.stdout.write(`${versionOf()}\n`);
    return 0;
  }
  const command = COMMANDS.find((known) => known.name === name);
  if (command === undefined) {
    process.stderr.write(
      `flotilla: unknown command ${JSON.stringify(name)}. Run flotilla help for the list of commands.\n`,
    );
    return EXIT_USAGE;
  }
  return command.run(rest);
}

/** A child of another flotilla (children.ts) shuts down in order when its parent dies. */
function followParent(): void {
  if (process.channel === undefined) return;
  process.channel?.unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** An installed `flotilla` is a symlink to this file, but `import.meta.url` is the resolved path. */
const started = process.argv[1];
if (started !== undefined && import.meta.url === pathToFileURL(realpathSync(started)).href) {
  followParent();
  process.exitCode = await main(process.argv.slice(2));
}
