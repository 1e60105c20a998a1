/** Draws the page that belongs to the address. */
import { actionsPage } from './actions.ts';
import { clusterPage } from './cluster.ts';
import { clustersPage } from './clusters.ts';
import { eventsPage } from './events.ts';
import { gangPage, gangsPage } from './gangs.ts';
import { machinePage } from './machine.ts';
import { machinesPage } from './machines.ts';
import { needsPage } from './needs.ts';
import { notFoundPage } from './not-found.ts';
import { offeringPage, offeringsPage } from './offerings.ts';
import { overviewPage } from './overview.ts';
import { providerPage, providersPage } from './providers.ts';
import { shardPage, shardsPage } from './shards.ts';
import { spendingPage } from './spending.ts';
import { tenantsPage } from './tenants.ts';
import { whatIfPage } from './what-if.ts';

const PAGES: Readonly<Record<string, (page: HTMLElement) => void>> = {
  '/': overviewPage,
  '/needs': needsPage,
  '/machines': machinesPage,
  '/actions': actionsPage,
  '/events': eventsPage,
  '/clusters': clustersPage,
  '/gangs': gangsPage,
  '/providers': providersPage,
  '/offerings': offeringsPage,
  '/shards': shardsPage,
  '/tenants': tenantsPage,
  '/spending': spendingPage,
  '/what-if': whatIfPage,
};

const page = document.getElementById('page')!;
const path = location.pathname;
const [, section = '', name = ''] = /^(\/[a-z-]*)(?:\/(.+))?$/.exec(path) ?? [];
for (const link of document.querySelectorAll('nav a')) {
  if (link.getAttribute('href') !== section) continue;
  link.setAttribute('aria-current', 'page');
  document.title = `${link.textContent} · Flotilla`;
  link.scrollIntoView({ block: 'nearest', inline: 'center' }); // on a phone the menu is wider than the screen
}
const draw = PAGES[path];
if (section === '/machines' && name !== '') machinePage(page, decodeURIComponent(name));
else if (section === '/clusters' && name !== '') clusterPage(page, decodeURIComponent(name));
else if (section === '/providers' && name !== '') providerPage(page, decodeURIComponent(name));
else if (section === '/gangs' && name !== '') gangPage(page, decodeURIComponent(name));
else if (section === '/shards' && name !== '') shardPage(page, decodeURIComponent(name));
else if (section === '/offerings' && name !== '') offeringPage(page, decodeURIComponent(name));
else if (draw !== undefined) draw(page);
else
  notFoundPage(page, `There is no page at ${path}.`, 'The address may be misspelt, or of another version.');
