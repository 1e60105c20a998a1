/**
 * `flotilla completion`: a script that completes commands and flags. It reads the flags from the help of each command, so
 * the two cannot disagree. The script holds plain lists; only for ids of explain and history does it ask the shard.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const HELP = `Usage: flotilla completion bash|zsh|fish

Prints a script that completes commands and flags in a shell.

  --help            print this help and exit

Examples:
  flotilla completion bash > /etc/bash_completion.d/flotilla
  flotilla completion zsh > "\${fpath[1]}/_flotilla"
  flotilla completion fish > ~/.config/fish/completions/flotilla.fish

Exit code: 0 printed, 2 invalid usage.
`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Things whose ids the shard completes, after these commands. */
const NOUNS = ['machine', 'cluster', 'provider', 'offering', 'gang', 'shard'] as const;
const NAMING = ['explain', 'history'] as const;
const ASK = '--limit 50 -o name 2>/dev/null';

/** Words that can follow a command. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  explain: ['need', ...NOUNS],
  history: ['need', ...NOUNS],
  pause: ['create', 'bind', 'reclaim', 'preempt', 'release', 'all'],
  resume: ['create', 'bind', 'reclaim', 'preempt', 'release', 'all'],
  fleet: ['shards', 'clusters', 'domains'],
  completion: SHELLS,
};
/** Values of flags that take one of a few. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  '--state': [
    'Speculative',
    'Creating',
    'Idle',
    'Configuring',
    'Configured',
    'Draining',
    'Deleting',
    'Failed',
  ],
  '--capacity': ['bare-metal', 'reserved', 'on-demand', 'spot', 'unspecified'],
  '--output': ['wide', 'name', 'json', 'yaml'],
  '--capacity-type': ['bare-metal', 'reserved', 'on-demand', 'spot', 'unspecified'],
  '--kind': ['Bootstrap', 'Provision', 'Reclaim', 'Preempt', 'Delete'],
};

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly string[];
}

export async function run(
  argv: readonly string[],
  commands: readonly { readonly name: string; readonly summary: string }[],
): Promise<number> {
  const [shell, ...rest] = argv;
  if (shell === '--help' || shell === '-h') {
    process.stdout.write(HELP);
    return 0;
  }
  if (!SHELLS.includes(shell as Shell) || rest.length > 0) {
    process.stderr.write('flotilla completion: Write bash, zsh or fish. See --help.\n');
    return 2;
  }
  const known = await Promise.all(
    commands.map(async ({ name, summary }) => ({
      name,
      summary,
      flags: await flagsOf(name),
    })),
  );
  process.stdout.write(SCRIPTS[shell as Shell](known));
  return 0;
}

/** The flags at the beginning of a line of a help text: one, or several separated by commas. */
export function flagsIn(help: string): string[] {
  const lists = help.matchAll(/^\s+(?:-\w, )?(--[a-z][a-z0-9-]*(?:, --[a-z][a-z0-9-]*)*)/gm);
  const found = [...lists].flatMap(([, flags]) => flags!.split(', '));
  return [...new Set(found)].sort();
}

async function flagsOf(command: string): Promise<string[]> {
  const main = fileURLToPath(new URL('./main.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [main, command, '--help'], {
    timeout: 30_000,
  });
  return flagsIn(stdout);
}

type Script = (commands: readonly CompletedCommand[]) => string;

const bash: Script = (commands) => `# flotilla: completion for bash
_flotilla() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(' ')} help version"
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
      ${NAMING.flatMap((command) => NOUNS.map((noun) => `"${command} ${noun}"`)).join('|')})
        if [ "$COMP_CWORD" -eq 3 ]; then
          # Not by compgen -W: it would run what a provider wrote into a name.
          COMPREPLY=()
          while IFS= read -r words; do COMPREPLY+=("$(printf %q "$words")"); done \\
            < <(flotilla "\${COMP_WORDS[2]}s" --prefix "$current" ${ASK})
          return
        fi ;;
    esac
    case "$previous" in
${Object.entries(VALUES)
  .map(([flag, values]) => `      ${flag}) words="${values.join(' ')}" ;;`)
  .join('\n')}
      *) case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags }) => `        ${name}) words="${[...(WORDS[name] ?? []), ...flags].join(' ')}" ;;`).join('\n')}
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _flotilla flotilla
`;

const zsh: Script = (commands) => `#compdef flotilla
# flotilla: completion for zsh
_flotilla() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
    'version:print the version'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if (( CURRENT == 4 )) && [[ "\${words[2]} \${words[3]}" == (${NAMING.join('|')})' '(${NOUNS.join('|')}) ]]; then
    compadd -- \${(f)"$(flotilla "\${words[3]}s" --prefix "\${words[CURRENT]}" ${ASK})"}
    return
  fi
  case "\${words[CURRENT-1]}" in
${Object.entries(VALUES)
  .map(([flag, values]) => `    ${flag}) compadd -- ${values.join(' ')}; return ;;`)
  .join('\n')}
  esac
  case "\${words[2]}" in
${commands.map(({ name, flags }) => `    ${name}) compadd -- ${[...(WORDS[name] ?? []), ...flags].join(' ')} ;;`).join('\n')}
  esac
}
compdef _flotilla flotilla
`;

const fish: Script = (commands) => `# flotilla: completion for fish
complete -c flotilla -f
${commands
  .flatMap(({ name, summary, flags }) => {
    const after = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c flotilla -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...(WORDS[name] ?? []).map((word) => `complete -c flotilla ${after} -a ${word}`),
      ...(NAMING.some((one) => one === name) ? NOUNS : []).map((noun) => {
        const seen = `-n '__fish_seen_subcommand_from ${name}; and __fish_seen_subcommand_from ${noun}'`;
        return `complete -c flotilla ${seen} -a '(flotilla ${noun}s --prefix (commandline -ct) ${ASK})'`;
      }),
      ...flags.map((flag) => {
        const values = VALUES[flag] === undefined ? '' : ` -x -a '${VALUES[flag].join(' ')}'`;
        return `complete -c flotilla ${after} -l ${flag.slice(2)}${values}`;
      }),
    ];
  })
  .join('\n')}
`;

const SCRIPTS: Readonly<Record<Shell, Script>> = { bash, zsh, fish };

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
