/** Figures and tables as Markdown. A figure is written with its unit everywhere, so that a quotation can be looked up. */
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
