/** Finds the texts that users read: string literals of sources, and the prose of Markdown pages. */

export interface UserText {
  /** `src/cli/up.ts:12`, or the command whose output it is. */
  readonly where: string;
  readonly text: string;
}

/** A slash after one of these begins a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:^|[([{=,;:!&|?+\-*%<>~^}]|\b(?:return|typeof|case|in|of|void|throw|await))\s*$/;
/** Texts without a blank are names, paths or codes. */
const HAS_BLANK = /\S\s+\S/;

/** The string literals of a TypeScript file, with the line on which each line of text stands. Comments are left out. */
export function textsOfSource(path: string, source: string): UserText[] {
  const texts: UserText[] = [];
  let at = 0;

  const lineOf = (offset: number) => source.slice(0, offset).split('\n').length;
  const add = (start: number, end: number) => {
    source
      .slice(start, end)
      .split('\n')
      .forEach((text, index) => {
        if (HAS_BLANK.test(text)) texts.push({ where: `${path}:${lineOf(start) + index}`, text });
      });
  };

  /** Reads code up to the end of the file, or up to the brace that closes a `${`. */
  const readCode = (isInTemplate: boolean): void => {
    for (let depth = 0; at < source.length; ) {
      const sign = source[at]!;
      if (source.startsWith('//', at)) skipTo('\n');
      else if (source.startsWith('/*', at)) skipTo('*/');
      else if (sign === "'" || sign === '"') readQuoted(sign);
      else if (sign === '`') readTemplate();
      else if (sign === '/' && BEFORE_REGEX.test(source.slice(Math.max(0, at - 80), at))) skipRegex();
      else {
        if (sign === '{') depth++;
        if (sign === '}' && depth-- === 0 && isInTemplate) return;
        at++;
      }
    }
  };

  const skipTo = (end: string): void => {
    const found = source.indexOf(end, at);
    at = found < 0 ? source.length : found + end.length;
  };

  const skipRegex = (): void => {
    let isInClass = false;
    for (at++; at < source.length && source[at] !== '\n'; at++) {
      if (source[at] === '\\') at++;
      else if (source[at] === '[') isInClass = true;
      else if (source[at] === ']') isInClass = false;
      else if (source[at] === '/' && !isInClass) break;
    }
    at++;
  };

  const readQuoted = (quote: string): void => {
    const start = ++at;
    while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
    add(start, at++);
  };

  const readTemplate = (): void => {
    let start = ++at;
    while (at < source.length && source[at] !== '`') {
      if (source.startsWith('${', at)) {
        add(start, at);
        at += 2;
        readCode(true);
        start = ++at;
      } else at += source[at] === '\\' ? 2 : 1;
    }
    add(start, at++);
  };

  readCode(false);
  return texts;
}

/** The lines of a page, without code: what stands in code is a name or a command. */
export function textsOfPage(path: string, page: string): UserText[] {
  const prose = page
    .replaceAll(/^```.*?^```/gms, (block) => block.replaceAll(/[^\n]+/g, ''))
    .replaceAll(/`[^`\n]*`/g, '`…`')
    .replaceAll(/\]\([^)\s]*\)/g, ']');
  return prose.split('\n').map((text, index) => ({ where: `${path}:${index + 1}`, text }));
}
