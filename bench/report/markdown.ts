/** Figures and tables as Markdown. A figure always has its unit, so that a quoted figure can be searched for. */
import { formatFigure } from '../terminal.ts';

export function figure(value: number, unit: string): string {
  return `${formatFigure(value)} ${unit === 'us' ? 'µs' : unit}`;
}

/** `sides`: one letter per column, l or r. */
export function table(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  sides: string,
): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cellText).join(' | ')} |`;
  const rule = header.map((_, column) => (sides[column] === 'r' ? '---:' : '---'));
  return [line(header), `|${rule.join('|')}|`, ...rows.map(line)].join('\n');
}

function cellText(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
