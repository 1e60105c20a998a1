/** The page for an address that has none, and for a machine or a cluster that the shard does not know. */
import { fill, h } from './dom.ts';

export function notFoundPage(page: HTMLElement, what: string, why: string): void {
  document.title = 'Not found · Flotilla';
  fill(
    page,
    h('h1', {}, 'Not found'),
    h('p', { class: 'answer' }, what),
    h('p', {}, why),
    h('p', {}, h('a', { href: '/' }, 'Overview'), ' · ', h('a', { href: '/events' }, 'History')),
  );
}
