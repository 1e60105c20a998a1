/** Tables, bars, badges, filters and charts. */

/** The tables whose rows become cards on a phone: those that are a whole page, and those whose cells carry labels. */
const STACKED = ':is(main > .scroll, .scroll:has(td:is([data-label], .empty)))';

export const PARTS = `
.swatch { display: inline-block; width: 9px; height: 9px; border-radius: 2px; background: var(--colour); flex: none; }
.badge, .kind { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
h1 .badge { font-size: 13px; font-weight: 500; letter-spacing: 0; vertical-align: 3px; margin-left: 8px; }
.verdict { display: inline-block; padding: 0 7px; border-radius: 9px; font-size: 12px; line-height: 18px; white-space: nowrap; }
.verdict.good { color: var(--good); background: var(--good-ground); }
.verdict.warn { color: var(--warn); background: var(--warn-ground); }
.verdict.bad { color: var(--bad); background: var(--bad-ground); }
.missing { color: var(--bad); }

.bar { display: flex; height: 10px; min-width: 60px; border-radius: 3px; overflow: hidden; gap: 1px; }
.bar > span { background: var(--colour); min-width: 1px; flex: none; }
.card > div > .bar { height: 18px; border-radius: 4px; margin-bottom: 12px; }
.legend { display: grid; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); gap: 2px 24px; list-style: none; margin: 0; padding: 0; }
.legend a { display: flex; align-items: center; gap: 8px; color: var(--text); padding: 2px 0; }
.legend .name { flex: 1; }
.legend .number { font-weight: 600; }
.legend .share { width: 52px; text-align: right; color: var(--muted); font-size: 12px; }

.card > div + .scroll { margin-top: 16px; }
.scroll { overflow-x: auto; margin-inline: -14px; padding: 0 14px; }
main > .scroll { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; margin: 0; padding: 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 5px 10px 5px 0; vertical-align: top; border-top: 1px solid var(--line); }
main > .scroll th, main > .scroll td { padding: 6px 12px 6px 0; }
main > .scroll :is(th, td):first-child { padding-left: 14px; }
thead th { color: var(--muted); font-weight: 500; font-size: 12px; border-top: 0; white-space: nowrap; padding-top: 0; }
main > .scroll thead th { padding-top: 9px; background: var(--raised); border-bottom: 1px solid var(--line); }
main > .scroll tbody tr:first-child > * { border-top: 0; }
tbody th { font-weight: 450; white-space: nowrap; }
@media (hover: hover) and (min-width: 641px) { tbody tr:not(.detail):hover > * { background: var(--raised); } }
.number { text-align: right; white-space: nowrap; }
.id { white-space: nowrap; }
.wide { width: 34%; }
td:has(> .bar) { vertical-align: middle; min-width: 90px; }
.more td { color: var(--muted); font-size: 12px; }
.end { text-align: right; }
.notes { color: var(--muted); min-width: 140px; overflow-wrap: anywhere; }
.need { min-width: 210px; max-width: 420px; }
.need .group { display: block; font-weight: 500; overflow-wrap: anywhere; }
.need .wish { display: block; color: var(--muted); font-size: 12px; overflow-wrap: anywhere; }
.detail > td { border-top: 0; padding: 2px 14px 14px; background: var(--raised); white-space: normal; }
@keyframes arrive { from { background: var(--warn-ground); } }
tr.new > * { animation: arrive 1.2s ease-out; }

.filters { display: flex; flex-wrap: wrap; gap: 8px 10px; align-items: end; margin-bottom: 10px; }
.field { display: flex; flex-direction: column; gap: 3px; color: var(--muted); font-size: 12px; }
.check { display: flex; align-items: center; gap: 6px; height: 32px; color: var(--text); white-space: nowrap; }
input, select, button { font: inherit; color: var(--text); background: var(--surface); border: 1px solid var(--line); border-radius: 6px; height: 32px; padding: 0 9px; }
input[type="search"] { width: 150px; -webkit-appearance: none; appearance: none; }
input[name="prefix"] { width: 230px; }
input[type="checkbox"] { width: 16px; height: 16px; margin: 0; accent-color: var(--link); }
::placeholder { color: var(--muted); opacity: 1; }
button { cursor: pointer; padding: 0 13px; }
button:hover:not(:disabled) { border-color: var(--link); }
button:disabled { color: var(--muted); cursor: default; opacity: .6; }
button[aria-pressed="true"] { background: var(--warn-ground); color: var(--warn); }
button.quiet { height: 24px; padding: 0 8px; font-size: 12px; color: var(--link); }
.summary { color: var(--muted); margin: 0 0 8px; }
.pager { display: flex; gap: 8px; margin-top: 12px; }

.keys { display: flex; flex-wrap: wrap; gap: 2px 14px; list-style: none; margin: 0 0 4px; padding: 0; font-size: 12px; color: var(--muted); }
.keys li { display: flex; align-items: center; gap: 6px; }
.frame { position: relative; height: 150px; }
.frame svg { display: block; position: absolute; inset: 0; }
.frame text { fill: var(--muted); font-size: 11px; }
.frame .grid { display: inline; stroke: var(--line); stroke-width: 1; }
.frame .cursor { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 2 2; }
.frame :is(rect, circle) { fill: var(--colour); }
.frame .cut { fill: var(--muted); }
.frame .line { fill: none; stroke: var(--colour); stroke-width: 1.75; stroke-linejoin: round; }
.data { margin-top: 6px; font-size: 12px; }
.data summary { color: var(--link); cursor: pointer; width: fit-content; }
.data .scroll { max-height: 260px; overflow-y: auto; margin-top: 6px; }
.tip { position: absolute; top: 4px; background: var(--surface); border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 4px 14px rgb(0 0 0 / .14); padding: 7px 10px; font-size: 12px; pointer-events: none; z-index: 2; }
.tip p { color: var(--muted); white-space: nowrap; margin-bottom: 3px; }
.tip ul { list-style: none; margin: 0; padding: 0; }
.tip li { display: flex; align-items: center; gap: 7px; }
.tip .number { flex: 1; padding-left: 14px; }

@media (max-width: 640px) {
  .data summary { padding: 6px 0; }
  .field { flex: 1 1 42%; }
  input[type="search"], input[name="prefix"], .field select { width: 100%; }
  input, select, button { height: 36px; font-size: 16px; }
  button.quiet { height: 30px; font-size: 13px; }
  .legend { grid-template-columns: 1fr 1fr; gap: 2px 16px; }
  .legend .share { display: none; }
  .card .scroll :is(th, td) { padding-right: 8px; }
  .card .scroll :is(th, td):last-child { padding-right: 0; }
  .card .scroll thead th { white-space: normal; vertical-align: bottom; }
  .card .scroll td:not(.number) { white-space: normal; overflow-wrap: anywhere; }
  .card .scroll tbody th { white-space: normal; overflow-wrap: break-word; }
  .card .scroll .wide { width: auto; }
  .card .scroll td:has(> .bar), .card .scroll .bar { min-width: 40px; }
  /* Each row is a card, so the page needs no sideways scrolling. */
  ${STACKED} :is(table, tbody) { display: block; }
  ${STACKED} thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  ${STACKED} tbody tr { display: grid; grid-template-columns: 1fr 1fr; gap: 4px 14px; padding: 10px 12px; border-top: 1px solid var(--line); }
  ${STACKED} tbody tr:first-child { border-top: 0; }
  ${STACKED} :is(td, th), ${STACKED} :is(th, td):first-child { display: block; border: 0; padding: 0; text-align: left; min-width: 0; max-width: none; white-space: normal; overflow-wrap: anywhere; }
  ${STACKED} :is(td:empty, .detail[hidden]) { display: none; }
  ${STACKED} td[data-label]::before { content: attr(data-label); display: block; color: var(--muted); font-size: 11px; }
  ${STACKED} :is(tbody th, .need, .notes, .empty, .detail > td) { grid-column: 1 / -1; }
  ${STACKED} tbody th { font-weight: 600; }
  ${STACKED} tr.detail { border-top: 0; background: var(--raised); }
}
`;
