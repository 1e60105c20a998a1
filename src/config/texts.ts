/** Texts generated from the settings: --help, --print-config and docs/configuration.md. */
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
    'Runs a shard: it tracks the machines of its providers and decides which to create, bind, drain or release.',
    'Every option is also an environment variable (FLOTILLA_CYCLE_INTERVAL=10s) and a key of the config file',
    '(cycle-interval: 10s). Flags override the environment, and the environment overrides the file.',
    'SIGHUP reloads the options marked * while the shard runs.',
    '',
    ...helpLines('--config FILE', 'Read settings from this YAML or JSON file.'),
    ...helpLines('--print-config', 'Print the resulting settings with the source of each, and exit.'),
    ...helpLines('--help', 'Print this help and exit.'),
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
    'Once it listens, the shard prints "listening on HOST:PORT http URL" as its first line.',
    'Exit code: 0 stopped by a signal, 1 failed, 2 invalid settings or unusable data directory,',
    '75 another replica is active: start it again, and it is a standby,',
    '130 stopped by a second signal or when --shutdown-grace ran out.',
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

/** The settings as a config file, with the source of each value in a comment. */
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

/** Quotes a text unless every YAML reader takes it as a plain string. */
function yamlText(text: string): string {
  const isPlain = /^[A-Za-z0-9./][A-Za-z0-9._/-]*$/.test(text) && !/^null$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

const PAGE_HEAD = `# Configuration of \`flotilla shard\`

Generated from \`src/config/shard-settings.ts\` by \`npm run docs\`; do not edit.

A setting has the same name everywhere: \`--cycle-interval 5s\` on the command line, \`FLOTILLA_CYCLE_INTERVAL=5s\` in the
environment, and \`cycle-interval: 5s\` in the file that \`--config FILE\` (or \`FLOTILLA_CONFIG\`) names.

- **Precedence**: flags override the environment, the environment overrides the file, and the file overrides the defaults.
- **Switches** stand alone (\`--dry-run\`) or take a value (\`--dry-run=false\`).
- **Lists**: repeat the flag, write a YAML sequence in the file, or separate the values by commas in the environment.
- **Durations** are written \`50ms\`, \`10s\`, \`1m30s\`, \`2h\`, \`1d\`; **sizes** are written \`64KiB\`, \`1GiB\`, \`500MB\`.
- **Errors** (an unknown name, an invalid value, a setting given twice): the shard prints one line for each, with its
  source and what to write instead, and exits with code 2. It reports all errors at once.
- \`--print-config\` prints the resulting settings with the source of each. Its output is a valid config file.
- **SIGHUP** makes the shard read all sources again. It applies changed settings that are marked ↻ at once, and logs
  the other changed settings, which need a restart. If anything is invalid, the shard keeps all its current settings.
  Flags still override the file, so put settings that you want to change at runtime into the file.
- **Plaintext** is only allowed on loopback: without TLS, the shard refuses to listen on any other address unless
  \`--insecure\` is set.
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
