/** Parses a Dockerfile into stages and instructions: just enough of the language for ours. */

export interface Instruction {
  readonly name: string;
  /** The text after the name, with continued lines joined. */
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

export function stagesOf(dockerfile: string): Stage[] {
  const stages: { name: string; instructions: Instruction[] }[] = [];
  const lines = dockerfile.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  for (const line of lines.split('\n').filter((line) => line.trim() !== '')) {
    const [, name, text] = /^([A-Z]+)\s+(.*)$/.exec(line)!;
    if (name === 'FROM') stages.push({ name: / AS (\S+)$/.exec(text!)?.[1] ?? '', instructions: [] });
    else stages.at(-1)?.instructions.push({ name: name!, text: text! });
  }
  return stages;
}

/** What COPY takes from the repository, and from other stages. */
export function copiesOf({ instructions }: Stage): { from: string; sources: string[]; target: string }[] {
  return instructions
    .filter(({ name }) => name === 'COPY')
    .map(({ text }) => {
      const [, from = '', words] = /^(?:--from=(\S+) )?(.*)$/.exec(text)!;
      const sources = words!.split(' ');
      const target = sources.pop()!;
      return { from, sources, target };
    });
}

export function instructionOf({ instructions }: Stage, wanted: string): string {
  const found = instructions.filter(({ name }) => name === wanted);
  if (found.length !== 1) throw new Error(`${found.length} × ${wanted}`);
  return found[0]!.text;
}
