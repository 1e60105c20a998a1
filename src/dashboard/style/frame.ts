/** The frame of every page: header, menu, notices, cards, tiles. */
export const FRAME = `
* { box-sizing: border-box; }
html { font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font-variant-numeric: tabular-nums; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
code { font: 12px/1.4 ui-monospace, "SF Mono", Menlo, "Liberation Mono", monospace; overflow-wrap: anywhere; }
h1 { font-size: 20px; font-weight: 650; letter-spacing: -.01em; margin: 4px 0 14px; overflow-wrap: anywhere; }
h2 { font-size: 13px; font-weight: 650; margin: 0 0 10px; }
p { margin: 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -999px; top: 6px; background: var(--surface); padding: 6px 10px; z-index: 10; }
.skip:focus { left: 6px; }

.top { display: flex; align-items: center; gap: 20px; padding: 0 20px; min-height: 48px; background: var(--surface); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 5; }
.brand { display: flex; align-items: center; gap: 9px; color: var(--text); font-weight: 650; font-size: 15px; white-space: nowrap; }
.brand:hover { text-decoration: none; }
.brand img { display: block; }
.shard { color: var(--muted); font-size: 13px; white-space: nowrap; }
nav { flex: 1; min-width: 0; overflow-x: auto; scrollbar-width: none; }
nav ul { display: flex; gap: 2px; list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: 13px 11px 11px; color: var(--muted); border-bottom: 2px solid transparent; white-space: nowrap; }
nav a:hover { color: var(--text); text-decoration: none; }
nav a:focus-visible { outline-offset: -3px; }
nav a[aria-current] { color: var(--text); border-bottom-color: var(--link); font-weight: 550; }
.live { display: flex; align-items: center; gap: 7px; color: var(--muted); font-size: 12px; white-space: nowrap; }
.live .dot { width: 8px; height: 8px; border-radius: 50%; background: var(--speculative); }
.live[data-state="live"] .dot { background: var(--configured); }
.live[data-state="held"] .dot { background: var(--idle); }
.live[data-state="stale"] .dot { background: var(--failed); }
.live[data-state="stale"] { color: var(--bad); }

.notice { padding: 8px 20px; border-bottom: 1px solid var(--line); font-weight: 550; }
.notice.warn { background: var(--warn-ground); color: var(--warn); }
.notice.bad { background: var(--bad-ground); color: var(--bad); }

main { padding: 18px 20px 48px; max-width: 1560px; margin: 0 auto; }
.trail { color: var(--muted); margin-bottom: 2px; }

.tiles { display: grid; grid-template-columns: repeat(6, 1fr); gap: 12px; margin-bottom: 12px; }
.tile { display: flex; flex-direction: column; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 11px 14px 10px; color: var(--text); min-width: 0; }
a.tile:hover { text-decoration: none; border-color: var(--link); }
.tile .label { color: var(--muted); font-size: 12px; }
.tile .value { font-size: 24px; font-weight: 620; letter-spacing: -.02em; line-height: 1.25; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.tile .aside { color: var(--muted); font-size: 12px; min-height: 17px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.tile[data-level="warn"] .value { color: var(--warn); }
.tile[data-level="good"] .value { color: var(--good); }

.grid { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 12px; align-items: start; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 13px 14px 14px; min-width: 0; height: 100%; }
.span-2 { grid-column: span 2; }
.span-3 { grid-column: span 3; }

.rails, .facts { display: grid; grid-template-columns: minmax(96px, max-content) minmax(0, 1fr); gap: 3px 14px; margin: 0; }
.rails dt, .facts dt { color: var(--muted); overflow-wrap: anywhere; }
.rails dd, .facts dd { margin: 0; overflow-wrap: anywhere; }
.rails dd { text-align: right; }
dd[data-level="good"] { color: var(--good); }
dd[data-level="warn"] { color: var(--warn); font-weight: 600; }
dd[data-level="bad"] { color: var(--bad); font-weight: 600; }

.why .answer { font-weight: 600; font-size: 15px; margin-bottom: 6px; }
.why ul { margin: 0; padding-left: 18px; max-width: 90ch; }
.why :is(p, li) { overflow-wrap: anywhere; }
.why li { margin: 3px 0; }
.why + div > .bar { margin-top: 14px; }
.why .aside { margin-top: 8px; }
.aside { color: var(--muted); font-size: 12px; }
.empty { color: var(--muted); padding: 14px 8px; }

@media (max-width: 1100px) {
  .tiles { grid-template-columns: repeat(3, 1fr); }
  .grid { grid-template-columns: minmax(0, 1fr); }
  .span-2, .span-3 { grid-column: auto; }
}
@media (max-width: 640px) {
  .top { flex-wrap: wrap; gap: 0 12px; padding: 8px 14px 0; }
  .shard { flex: 1; }
  nav { order: 3; flex-basis: 100%; margin: 0 -14px; padding: 0 6px; }
  nav a { padding: 10px 9px 9px; }
  main { padding: 14px 12px 40px; }
  .tiles { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  .tile { padding: 9px 11px 8px; }
  .tile .value { font-size: 20px; }
  .grid { gap: 8px; }
  .notice { padding: 8px 14px; }
}
@media (prefers-reduced-motion: reduce) {
  * { animation: none !important; transition: none !important; scroll-behavior: auto !important; }
}
`;
