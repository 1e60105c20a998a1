/** The settings as texts: what --help shows, what --print-config prints, and docs/configuration.md. */
import { environmentNameOf, flagOf, type Setting } from './setting.ts';
import type { LoadedConfig, ShardField } from './shard-config.ts';
import { SHARD_SETTING_GROUPS } from './shard-settings.ts';

interface Row {
  readonly field: ShardField;
  readonly flag: string;
  readonly setting: Setting<unknown>;
}

const GROUPS = SHARD_SETTING_GROUPS.map(({ title, settings }) => ({
  title,
  rows: Object.entries(settings).map(
    ([field, setting]): Row => ({ field: field as ShardField, flag: flagOf(field, setting), setting }),
  ),
}));

const HELP_WIDTH = 110;
const HELP_INDENT = 44;

export function shardHelpText(): string {
  const lines = [
    'Usage: flotilla shard --provider-addr HOST:PORT [options]',
    '',
    'Holds the machines of its providers and decides which to create, bind, drain or release.',
    'Each option is also a variable (--cycle-interval: FLOTILLA_CYCLE_INTERVAL) and a key in a file (cycle-interval: 10s).',
    'The command line wins over the environment, the environment over the file. * is taken over on SIGHUP.',
    '',
    ...helpLines('--config FILE', 'Settings from a YAML or JSON file.'),
    ...helpLines(
      '--print-config',
      'Print the settings that would be used and where each came from, and stop.',
    ),
    ...helpLines('--help', 'Print this and stop.'),
  ];
  for (const { title, rows } of GROUPS) {
    lines.push('', title);
    for (const { flag, setting } of rows) {
      const value = setting.isSwitch ? '' : ` ${setting.placeholder}`;
      const marks = [
        setting.defaultText === '' ? '' : `default ${setting.defaultText}`,
        setting.isRepeatable ? 'repeatable' : '',
      ].filter((mark) => mark !== '');
      const help = marks.length === 0 ? setting.help : `${setting.help} (${marks.join(', ')})`;
      lines.push(...helpLines(`--${flag}${value}${setting.isReloadable ? ' *' : ''}`, help));
    }
  }
  lines.push(
    '',
    'Examples:',
    '  flotilla shard --provider-addr 127.0.0.1:7790',
    '  flotilla shard --config /etc/flotilla/shard.yaml --print-config',
    '',
    'The first line is "listening on HOST:PORT http URL".',
    'Exit code: 0 ended by a signal, 1 failed, 2 wrong settings or a data directory that cannot be used,',
    '130 ended by a second signal or past its grace.',
  );
  return `${lines.join('\n')}\n`;
}

function helpLines(name: string, help: string): string[] {
  const lines: string[] = [];
  let line = `  ${name.padEnd(HELP_INDENT - 3)} `;
  if (line.length > HELP_INDENT) {
    lines.push(line.trimEnd());
    line = ' '.repeat(HELP_INDENT);
  }
  for (const word of help.split(' ')) {
    if (line.length + word.length > HELP_WIDTH) {
      lines.push(line.trimEnd());
      line = ' '.repeat(HELP_INDENT);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}

const COMMENT_COLUMN = 44;

/** A config file that gives exactly these settings, with a comment on each that says where it came from. */
export function printConfig({ config, origins }: LoadedConfig): string {
  const lines: string[] = [];
  for (const { title, rows } of GROUPS) {
    lines.push(lines.length === 0 ? `# ${title}` : `\n# ${title}`);
    for (const { field, flag, setting } of rows) {
      const texts = setting.format(config[field]).map(yamlText);
      const value = setting.isRepeatable ? `[${texts.join(', ')}]` : texts[0]!;
      lines.push(`${`${flag}: ${value}`.padEnd(COMMENT_COLUMN)} # ${oneLine(origins[field])}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Quoted unless it is plain in every position of a YAML document. */
function yamlText(text: string): string {
  const isPlain = /^[A-Za-z0-9./][A-Za-z0-9._/-]*$/.test(text) && !/^null$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

const PAGE_HEAD = `# Configuration of \`flotilla shard\`

Generated from \`src/config/shard-settings.ts\` by \`npm run docs\`; do not edit.

A setting has one name everywhere. \`--cycle-interval 5s\` on the command line is \`FLOTILLA_CYCLE_INTERVAL=5s\` in the
environment and \`cycle-interval: 5s\` in a file that \`--config FILE\` (or \`FLOTILLA_CONFIG\`) names.

- **The command line wins** over the environment, the environment over the file, the file over the default.
- **A switch** stands alone (\`--dry-run\`) or with a value (\`--dry-run=false\`).
- **A list** is a repeated flag, a YAML sequence in a file, or separated by commas in the environment.
- **Durations** are \`50ms\`, \`10s\`, \`1m30s\`, \`2h\`, \`1d\`; **bytes** are \`64KiB\`, \`1GiB\`, \`500MB\`.
- **A mistake** (an unknown name, a bad value, one given twice) is one line each that says where it stands and what to
  write instead; all of them are shown at once, nothing starts, and the exit code is 2.
- \`--print-config\` prints what would be used and where each value came from. What it prints is itself a config file.
- **SIGHUP** reads everything again. Settings with ↻ are taken over at once; others that changed are named in the log and wait
  for a restart. A file with a mistake changes nothing. A flag still wins, so settings that are to be changed while the
  shard runs belong into the file.
- Plaintext stays on this machine: beyond loopback without TLS the shard refuses to start unless \`--insecure\` is given.
`;

export function configurationPage(): string {
  const parts = [PAGE_HEAD];
  for (const { title, rows } of GROUPS) {
    parts.push(`## ${title}\n`);
    parts.push(
      '| flag and file key | environment | type | default | allowed | meaning |\n|---|---|---|---|---|---|',
    );
    for (const { flag, setting } of rows) {
      const cells = [
        `\`${flag}\`${setting.isReloadable ? ' ↻' : ''}`,
        `\`${environmentNameOf(flag)}\``,
        setting.type,
        setting.defaultText === '' ? 'none' : `\`${setting.defaultText}\``,
        setting.allowedText,
        setting.help,
      ];
      parts.push(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`);
    }
    parts.push('');
  }
  return parts.join('\n');
}
