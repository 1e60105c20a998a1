/** Shared by the commands that change a running shard: how they reach it, who gives them and why. */
import { userInfo } from 'node:os';
import type { ParseArgsConfig } from 'node:util';
import { ChannelCredentials } from '@grpc/grpc-js';
import { AdminClient } from '../../admin/client.ts';
import { systemClock } from '../../base/clock.ts';
import { ShardError } from '../../base/errors.ts';
import { AdminFolder } from '../../identity/admin-folder.ts';
import { ClientCredentials } from '../../tls/client-credentials.ts';
import type { Scope } from '../../wire/admin.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../exit.ts';
import { type Flags, parseFlags, UsageError } from '../inspect/command.ts';
import { type Output, processOutput } from '../inspect/terminal.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

export const REACH = {
  'data-dir': { type: 'string' },
  shard: { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-ca': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies Options;

export const SCOPE_OPTIONS = {
  cluster: { type: 'string' },
  provider: { type: 'string' },
  zone: { type: 'string' },
  'instance-type': { type: 'string' },
  'capacity-type': { type: 'string' },
  machine: { type: 'string' },
} as const satisfies Options;

export const COMMANDER_OPTIONS = {
  who: { type: 'string' },
  why: { type: 'string' },
} as const satisfies Options;

export const SCOPE_HELP = `  --cluster ID           of this cluster: the one that would get or lose the machine
  --provider NAME        of this provider
  --zone ZONE            in this zone
  --instance-type TYPE   of this instance type
  --capacity-type TYPE   bare-metal, reserved, on-demand or spot
  --machine ID           this machine
`;

/** How to reach a shard. */
export const WHERE_HELP = `  --data-dir DIR         data directory of the shard on this host (default FLOTILLA_DATA_DIR, or else ./data)
  --shard HOST:PORT      a shard elsewhere that runs with --admin-over-tls; needs the three TLS files
  --tls-cert FILE        certificate with the identity bigfleet://admin, PEM
  --tls-key FILE         its private key, PEM
  --tls-ca FILE          CA that signed the certificate of the shard, PEM
`;

/** The same for a command that knows no other way. */
export const REACH_HELP = `${WHERE_HELP}  --json                 print JSON
  --help                 print this help and exit
`;

/** The same for a command that changes something. */
export const CHANGE_HELP = `  --why TEXT             the reason, for the audit log and for others on call (required)
  --who NAME             who gives the command (default: this user and host)
${REACH_HELP}`;

export interface AdminContext {
  readonly client: AdminClient;
  readonly flags: Flags;
  readonly output: Output;
  readonly isJson: boolean;
}

export interface AdminCommand {
  readonly name: string;
  readonly help: string;
  readonly options: Options;
  readonly positionals?: true;
  readonly run: (context: AdminContext) => Promise<void>;
}

/** Resolves with the exit code. */
export async function runAdminCommand(
  command: AdminCommand,
  argv: readonly string[],
  output: Output = processOutput(),
): Promise<number> {
  try {
    const options = { ...command.options, ...REACH };
    const flags = parseFlags(options, command.positionals ?? false, argv);
    if (flags.has('help')) {
      output.out(command.help);
      return EXIT_OK;
    }
    const { client, close } = connect(flags);
    try {
      await command.run({ client, flags, output, isJson: flags.has('json') });
    } finally {
      close();
    }
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    output.error(`flotilla ${command.name}: ${error.message}\n`);
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
}

/** What the shard adds to its answer, if anything. */
export function warn({ output }: Pick<AdminContext, 'output'>, warning: string): void {
  if (warning !== '') output.error(`Warning: ${warning}\n`);
}

export function scopeIn(flags: Flags): Scope {
  return {
    cluster: flags.text('cluster') ?? '',
    provider: flags.text('provider') ?? '',
    zone: flags.text('zone') ?? '',
    instanceType: flags.text('instance-type') ?? '',
    capacityType: flags.text('capacity-type') ?? '',
    machine: flags.text('machine') ?? '',
  };
}

export function commanderIn(flags: Flags): { readonly who: string; readonly why: string } {
  const why = flags.text('why') ?? '';
  if (why.trim() === '')
    throw new UsageError('--why is missing. Say why, for the audit log and for others on call.');
  return { who: flags.text('who') ?? `${userName()}@${process.env.HOSTNAME ?? 'localhost'}`, why };
}

/** A container may have no entry for its user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** `90s`, `30m`, `2h`, `7d`. */
export function durationMs(name: string, text: string | undefined): number {
  const [, amount, unit] = /^(\d{1,6})(s|m|h|d)$/.exec(text ?? '') ?? [];
  const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit ?? ''];
  if (unitMs !== undefined && Number(amount) > 0) return Number(amount) * unitMs;
  throw new UsageError(
    text === undefined
      ? `--${name} is missing. Give it a time such as 30m, 2h or 7d.`
      : `--${name} is "${text}", but must be a time such as 30m, 2h or 7d.`,
  );
}

/** By the socket of a data directory, or by TLS. Throws UsageError. */
export function connect(flags: Flags): { readonly client: AdminClient; readonly close: () => void } {
  const address = flags.text('shard');
  if (address === undefined) return connectBySocket(flags);
  const [certificatePath, privateKeyPath, caPath] = ['tls-cert', 'tls-key', 'tls-ca'].map((name) =>
    flags.text(name),
  );
  if (certificatePath === undefined || privateKeyPath === undefined || caPath === undefined)
    throw new UsageError(
      '--shard needs --tls-cert, --tls-key and --tls-ca: only an admin certificate may command a shard.',
    );
  const credentials = new ClientCredentials(
    { certificatePath, privateKeyPath, caPath },
    systemClock,
  ).current();
  const client = new AdminClient(address, credentials);
  return { client, close: () => client.close() };
}

function connectBySocket(flags: Flags) {
  const path = flags.text('data-dir') ?? process.env.FLOTILLA_DATA_DIR ?? './data';
  const folder = AdminFolder.find(path);
  if (!folder.hasSocket) {
    folder.close();
    throw new UsageError(
      `No shard serves admins in ${path}. Give --data-dir the data directory of a running shard, or use --shard.`,
    );
  }
  const client = new AdminClient(`unix:${folder.socketPath}`, ChannelCredentials.createInsecure());
  return {
    client,
    close: () => {
      client.close();
      folder.close();
    },
  };
}
