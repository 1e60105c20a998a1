/** What a person types into `flotilla top`, and what that changes on the screen. Pure, so that tests type without a terminal. */

export type Key =
  | {
      readonly kind: 'up' | 'down' | 'page-up' | 'page-down' | 'enter' | 'escape' | 'tab' | 'delete' | 'quit';
    }
  | { readonly kind: 'text'; readonly text: string };

const ESCAPE = '\x1b';
/** What a key sends that is no character: arrows, pages, and others that mean nothing here. */
const SEQUENCE = new RegExp(`^${ESCAPE}\\[[0-9;]*[A-Za-z~]`);
/** Ctrl-C arrives as a character in raw mode. */
const KINDS: ReadonlyMap<string, Exclude<Key['kind'], 'text'>> = new Map([
  [`${ESCAPE}[A`, 'up'],
  [`${ESCAPE}[B`, 'down'],
  [`${ESCAPE}[5~`, 'page-up'],
  [`${ESCAPE}[6~`, 'page-down'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\t', 'tab'],
  ['\x7f', 'delete'],
  ['\b', 'delete'],
  ['\x03', 'quit'],
  [ESCAPE, 'escape'],
]);

/** A terminal sends several keys at once when a person types fast or pastes. */
export function keysIn(typed: string): Key[] {
  const keys: Key[] = [];
  for (let rest = typed; rest !== ''; ) {
    const sequence = SEQUENCE.exec(rest)?.[0];
    const one = sequence ?? String.fromCodePoint(rest.codePointAt(0)!);
    const kind = KINDS.get(one);
    if (kind !== undefined) keys.push({ kind });
    else if (sequence === undefined && one >= ' ') keys.push({ kind: 'text', text: one });
    rest = rest.slice(one.length);
  }
  return keys;
}

export interface Screen {
  /** Which list is shown. */
  readonly list: number;
  /** The selected row of it. */
  readonly row: number;
  readonly filter: string;
  /** The person types a filter. */
  readonly isTyping: boolean;
  /** The selected row is explained instead of the list. */
  readonly isExplaining: boolean;
  readonly isOver: boolean;
}

export const FIRST_SCREEN: Screen = {
  list: 0,
  row: 0,
  filter: '',
  isTyping: false,
  isExplaining: false,
  isOver: false,
};

/** Rows and lists that there are now, and rows that a page has. */
export interface Shown {
  readonly rows: number;
  readonly lists: number;
  readonly pageRows: number;
}

export function press(screen: Screen, key: Key, shown: Shown): Screen {
  if (key.kind === 'quit') return { ...screen, isOver: true };
  if (screen.isTyping) return type(screen, key);
  if (screen.isExplaining) return leave(screen, key);
  const to = (row: number) => ({ ...screen, row: Math.max(0, Math.min(shown.rows - 1, row)) });
  switch (key.kind === 'text' ? key.text : key.kind) {
    case 'q':
      return { ...screen, isOver: true };
    case 'down':
    case 'j':
      return to(screen.row + 1);
    case 'up':
    case 'k':
      return to(screen.row - 1);
    case 'page-down':
      return to(screen.row + shown.pageRows);
    case 'page-up':
      return to(screen.row - shown.pageRows);
    case 'tab':
      return { ...screen, list: (screen.list + 1) % shown.lists, row: 0, filter: '' };
    case '/':
      return { ...screen, isTyping: true, filter: '', row: 0 };
    case 'escape':
      return { ...screen, filter: '', row: 0 };
    case 'enter':
      return shown.rows === 0 ? screen : { ...screen, isExplaining: true };
    default:
      return screen;
  }
}

function type(screen: Screen, key: Key): Screen {
  switch (key.kind) {
    case 'text':
      return { ...screen, filter: screen.filter + key.text };
    case 'delete':
      return { ...screen, filter: [...screen.filter].slice(0, -1).join('') };
    case 'enter':
      return { ...screen, isTyping: false };
    case 'escape':
      return { ...screen, isTyping: false, filter: '' };
    default:
      return screen;
  }
}

function leave(screen: Screen, key: Key): Screen {
  const isBack = key.kind === 'escape' || key.kind === 'enter' || key.kind === 'delete';
  if (key.kind === 'text' && key.text === 'q') return { ...screen, isOver: true };
  return isBack ? { ...screen, isExplaining: false } : screen;
}
