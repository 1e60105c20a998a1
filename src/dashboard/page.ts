/** The HTML document that all pages share; the client fills it. It is a constant, so it needs no escaping. */

/** Pages and their paths, in the order of the menu. */
export const PAGES = [
  { path: '/', name: 'Overview' },
  { path: '/needs', name: 'Needs' },
  { path: '/gangs', name: 'Gangs' },
  { path: '/machines', name: 'Machines' },
  { path: '/actions', name: 'Actions' },
  { path: '/events', name: 'History' },
  { path: '/clusters', name: 'Clusters' },
  { path: '/providers', name: 'Providers' },
  { path: '/offerings', name: 'Offerings' },
  { path: '/shards', name: 'Shards' },
  { path: '/tenants', name: 'Tenants' },
  { path: '/spending', name: 'Spending' },
  { path: '/what-if', name: 'What if' },
] as const;

export function isPage(path: string): boolean {
  return (
    PAGES.some((page) => page.path === path) ||
    /^\/(?:machines|clusters|providers|offerings|gangs|shards)\/[^/]+$/.test(path)
  );
}

export const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Flotilla</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/style.css">
<script type="module" src="/assets/client/main.js"></script>
</head>
<body>
<a class="skip" href="#page">Skip to content</a>
<header class="top">
<a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="22" height="22"><span>Flotilla</span></a><a class="shard" id="shard" href="/shards"></a>
<nav aria-label="Pages"><ul>${PAGES.map(({ path, name }) => `<li><a href="${path}">${name}</a></li>`).join('')}</ul></nav>
<p class="live" id="live" role="status"><span class="dot" aria-hidden="true"></span><span id="live-text">connecting</span></p>
</header>
<div id="notices" role="alert"></div>
<main id="page" tabindex="-1"><noscript><p class="empty">The dashboard needs JavaScript, which is turned off in this browser. The same data is at <a href="/api/v1/overview">/api/v1/overview</a> and in the commands flotilla top, needs and machines.</p></noscript></main>
</body>
</html>
`;
