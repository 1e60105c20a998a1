/** A JSON line of the log as readable text: `08:15:30.125 WARN  provider_unreachable provider=rack-a`. */

const COLOURS: Readonly<Record<string, string>> = {
  debug: '\u001b[2m',
  info: '\u001b[36m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
};
const PLAIN = '\u001b[0m';

/** Colours only on a terminal. */
const hasColour = () => process.stderr.isTTY === true && process.env.NO_COLOR === undefined;

export function prettyLine(json: string, isColoured = hasColour()): string {
  const { level, time, event, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const label = String(level).toUpperCase().padEnd(5);
  const shownLabel = isColoured ? `${COLOURS[String(level)] ?? ''}${label}${PLAIN}` : label;
  const words = Object.entries(fields).map(([name, value]) => `${name}=${word(value)}`);
  return `${[String(time).slice(11, 23), shownLabel, String(event), ...words].join(' ')}\n`;
}

function word(value: unknown): string {
  if (typeof value === 'string') return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  return Array.isArray(value) ? `[${value.map(word).join(' ')}]` : JSON.stringify(value);
}
