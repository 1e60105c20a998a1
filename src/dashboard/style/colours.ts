/**
 * Colours, light and dark. A state, a kind of action and a phase each have the same colour everywhere. Text has a contrast
 * of at least 4.5 to 1 to its background, and colour is never the only carrier of information.
 */
export const COLOURS = `
:root {
  color-scheme: light dark;
  --ground: #f4f6f8;
  --surface: #ffffff;
  --raised: #f8f9fb;
  --line: #dde2e8;
  --text: #18212c;
  --muted: #57626f;
  --link: #1a4fb8;
  --focus: #1a4fb8;
  --good: #17683f;
  --good-ground: #e3f4ea;
  --warn: #7d5200;
  --warn-ground: #fdf1d7;
  --bad: #a4241c;
  --bad-ground: #fce7e5;
  --configured: #2f9e6e;
  --configuring: #4aa8d8;
  --creating: #8f7ae0;
  --idle: #e0ab2b;
  --draining: #e07f3e;
  --deleting: #b06c86;
  --failed: #d43f3a;
  --speculative: #aab4c0;
  --series-1: #3b76d6;
  --series-2: #45b39c;
  --series-3: #e0ab2b;
  --series-4: #c2619b;
  --series-5: #8f7ae0;
  --series-6: #8b97a5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1217;
    --surface: #161b22;
    --raised: #1b222b;
    --line: #2b333e;
    --text: #e4e9ef;
    --muted: #9ba7b5;
    --link: #83aeff;
    --focus: #83aeff;
    --good: #62d39a;
    --good-ground: #12301f;
    --warn: #efc25c;
    --warn-ground: #34280c;
    --bad: #ff8d85;
    --bad-ground: #3b1715;
    --configured: #37b07c;
    --configuring: #53b4e6;
    --creating: #9f8cf0;
    --idle: #e5b53f;
    --draining: #ea8c4c;
    --deleting: #c07d97;
    --failed: #e5534b;
    --speculative: #5f6b79;
    --series-1: #5b92ea;
    --series-2: #4dc0a8;
    --series-3: #e5b53f;
    --series-4: #d074ad;
    --series-5: #9f8cf0;
    --series-6: #7f8b99;
  }
}
.state-configured { --colour: var(--configured); }
.state-configuring { --colour: var(--configuring); }
.state-creating { --colour: var(--creating); }
.state-idle { --colour: var(--idle); }
.state-draining { --colour: var(--draining); }
.state-deleting { --colour: var(--deleting); }
.state-failed { --colour: var(--failed); }
.state-speculative { --colour: var(--speculative); }
.kind-bootstrap { --colour: var(--configured); }
.kind-provision { --colour: var(--creating); }
.kind-reclaim { --colour: var(--draining); }
.kind-preempt { --colour: var(--failed); }
.kind-delete { --colour: var(--deleting); }
.series-1 { --colour: var(--series-1); }
.series-2 { --colour: var(--series-2); }
.series-3 { --colour: var(--series-3); }
.series-4 { --colour: var(--series-4); }
.series-5 { --colour: var(--series-5); }
.series-6 { --colour: var(--series-6); }
`;
