#!/usr/bin/env node
/** `flotilla`: finds the command and runs it. Each command is a module of its own, loaded when it is asked for. */
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
    summary: 'run a shard with a simulated provider and simulated clusters, to look at',
    run: async (argv) => (await import('./up.ts')).run(argv),
  },
  {
    name: 'shard',
    summary: 'run a shard',
    run: async (argv) => (await import('./shard.ts')).run(argv),
  },
  {
    name: 'top',
    summary: 'watch a running shard: machines, dollars, what is missing',
    run: async (argv) => (await import('./top.ts')).run(argv),
  },
  {
    name: 'needs',
    summary: 'list what clusters ask for, and whether they have it',
    run: async (argv) => (await import('./needs.ts')).run(argv),
  },
  {
    name: 'machines',
    summary: 'list machines, with filters',
    run: async (argv) => (await import('./machines.ts')).run(argv),
  },
  {
    name: 'actions',
    summary: 'follow what a shard does',
    run: async (argv) => (await import('./actions.ts')).run(argv),
  },
  {
    name: 'explain',
    summary: 'say why a need is unmet, or why a machine is where it is',
    run: async (argv) => (await import('./explain.ts')).run(argv),
  },
  {
    name: 'provider',
    summary: 'run a simulated provider as a gRPC server',
    run: async (argv) => (await import('./provider.ts')).run(argv),
  },
  {
    name: 'operators',
    summary: 'run simulated clusters that ask a shard for machines',
    run: async (argv) => (await import('./operators.ts')).run(argv),
  },
  {
    name: 'conformance',
    summary: 'check whether a provider keeps the contract',
    run: async (argv) => (await import('./conformance.ts')).run(argv),
  },
  {
    name: 'profile',
    summary: 'sum up CPU profiles of a shard and its threads',
    run: async (argv) => (await import('./profile.ts')).run(argv),
  },
  {
    name: 'completion',
    summary: 'print a script that completes commands and flags in bash, zsh or fish',
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
    'flotilla COMMAND --help tells more.',
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
      `flotilla: there is no command ${JSON.stringify(name)}; flotilla help lists what there is\n`,
    );
    return EXIT_USAGE;
  }
  return command.run(rest);
}

/** Started by another flotilla (children.ts): if that one dies, this one ends in order. */
function followParent(): void {
  if (process.channel === undefined) return;
  process.channel?.unref();
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** An installed `flotilla` is a link to this file, and a module's own address is never that of a link. */
const started = process.argv[1];
if (started !== undefined && import.meta.url === pathToFileURL(realpathSync(started)).href) {
  followParent();
  process.exitCode = await main(process.argv.slice(2));
}
