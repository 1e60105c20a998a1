/**
 * Makes log fields flat, short, printable and free of secrets. Bootstrap blobs are credentials, so bytes are logged as
 * their length. Texts come from providers and operators, so they are cut and stripped of control characters before they
 * reach a terminal.
 */

export type LogValue =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  | Error
  | Uint8Array
  | readonly (string | number)[];
export type LogFields = Readonly<Record<string, LogValue>>;

type SafeValue = string | number | boolean | null | (string | number)[];

const SECRET_NAME = /blob|user_?data|secret|password|passwd|private_?key|authorization|credential/i;
/** Every line has these already; a field of the same name would appear twice. */
const RESERVED_NAME = /^(?:level|time|event)$/;
const TEXT_LENGTH_MAX = 1_024;
/** Long enough to see which machines, short enough for a line. */
const LIST_LENGTH_MAX = 20;

export function safeFields(fields: LogFields): Record<string, SafeValue> {
  const safe: Record<string, SafeValue> = {};
  for (const [given, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const name = RESERVED_NAME.test(given) ? `${given}_` : given;
    if (value instanceof Error) addError(safe, name, value);
    else safe[name] = SECRET_NAME.test(name) && value !== null ? '[redacted]' : safeValue(value);
  }
  return safe;
}

function safeValue(value: Exclude<LogValue, Error | undefined>): SafeValue {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return printable(value);
  if (typeof value === 'bigint') return value.toString();
  // JSON has no infinity: infinite penalties would become null.
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  const shown = value
    .slice(0, LIST_LENGTH_MAX)
    .map((each) => (typeof each === 'string' ? printable(each) : each));
  const left = value.length - shown.length;
  return left > 0 ? [...shown, `… and ${left.toLocaleString('en-US')} more`] : shown;
}

/** An expected failure is logged with code and message, a bug with its stack. */
function addError(safe: Record<string, SafeValue>, name: string, error: Error): void {
  const { code } = error as { code?: unknown };
  safe[name] = printable(error.message);
  if (typeof code === 'string' || typeof code === 'number') safe[`${name}_code`] = code;
  else safe[`${name}_stack`] = printable(error.stack ?? error.name, STACK_LENGTH_MAX);
}

const STACK_LENGTH_MAX = 4_096;

export function printable(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters
  const clean = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ');
  return clean.length > lengthMax ? `${clean.slice(0, lengthMax)}…` : clean;
}
