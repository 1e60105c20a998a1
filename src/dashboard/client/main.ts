/** Draws the page that belongs to the address. */
import { actionsPage } from './actions.ts';
import { clustersPage } from './clusters.ts';
import { machinePage } from './machine.ts';
import { machinesPage } from './machines.ts';
import { needsPage } from './needs.ts';
import { overviewPage } from './overview.ts';
import { tenantsPage } from './tenants.ts';

const PAGES: Readonly<Record<string, (page: HTMLElement) => void>> = {
  '/': overviewPage,
  '/needs': needsPage,
  '/machines': machinesPage,
  '/actions': actionsPage,
  '/clusters': clustersPage,
  '/tenants': tenantsPage,
};

const page = document.getElementById('page')!;
const path = location.pathname;
const section = path.startsWith('/machines/') ? '/machines' : path;
for (const link of document.querySelectorAll('nav a')) {
  if (link.getAttribute('href') !== section) continue;
  link.setAttribute('aria-current', 'page');
  document.title = `${link.textContent} · Flotilla`;
}
if (path.startsWith('/machines/')) machinePage(page, decodeURIComponent(path.slice('/machines/'.length)));
else PAGES[path]?.(page);
