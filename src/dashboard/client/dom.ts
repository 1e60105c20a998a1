/** Creates elements without markup: text stays text, so no name from a provider or an operator can become a tag. */

export type Child = Node | string | number | null | false;
type Attributes = Readonly<Record<string, string | number | boolean | null | ((event: Event) => void)>>;

/** `h('td', { class: 'number' }, '12')`. A function is a listener, `true` an empty attribute, `false` and null none. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAll(element, attributes);
  append(element, children);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  setAll(element, attributes);
  append(element, children);
  return element;
}

function setAll(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** Sets a text only if it differs, so that screen readers do not announce it again. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

interface Keyed {
  readonly signature: string;
  readonly nodes: Element[];
}

const rowsOf = new WeakMap<Element, Map<string, Keyed>>();

/**
 * Makes the rows of a table body match `items`. A row whose item did not change keeps its node, with focus, hover and
 * opened details.
 */
export function replaceRows<T>(
  body: Element,
  items: readonly T[],
  keyOf: (item: T) => string,
  makeRow: (item: T) => Element | Element[],
  signatureOf: (item: T) => string = (item) => JSON.stringify(item),
): void {
  const before = rowsOf.get(body) ?? new Map<string, Keyed>();
  const after = new Map<string, Keyed>();
  const wanted: Element[] = [];
  for (const item of items) {
    const key = keyOf(item);
    const signature = signatureOf(item);
    const known = before.get(key);
    const made =
      known !== undefined && known.signature === signature
        ? known
        : { signature, nodes: [makeRow(item)].flat() };
    after.set(key, made);
    wanted.push(...made.nodes);
  }
  rowsOf.set(body, after);
  for (const [index, node] of wanted.entries()) {
    const there = body.children[index];
    if (there !== node) body.insertBefore(node, there ?? null);
  }
  while (body.children.length > wanted.length) body.lastElementChild!.remove();
}
