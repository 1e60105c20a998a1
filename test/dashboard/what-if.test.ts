/** What-if questions over real HTTP: lines, refusals, and a client that goes away. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApiError } from '../../src/dashboard/api/types.ts';
import type { WhatIfLine } from '../../src/dashboard/api/what-if.ts';
import { LiveWorld } from './live-world.ts';

let live: LiveWorld;
let url = '';
let zone = '';

beforeAll(async () => {
  live = new LiveWorld(500);
  for (let step = 0; step < 3; step++) live.step();
  zone = live.world.inventory.shapes.zones.get(1);
  url = `${await live.serve()}/api/v1/what-if`;
});

afterAll(() => live.close());

it('Y4: answers in lines: progress, and at last the answer', async () => {
  const response = await fetch(`${url}?without=zone%3D${zone}&without=capacity-type%3Dspot&demand=*%3D2`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
  const lines = (await response.text()).trimEnd().split('\n');
  const read = lines.map((line) => JSON.parse(line) as WhatIfLine);
  expect(read.length).toBeGreaterThan(3);
  expect(read.slice(0, -1).every((line) => 'progress' in line)).toBe(true);
  const last = read.at(-1)!;
  expect('answer' in last && last.answer).toMatchObject({
    shardId: 'shard-test',
    question: [`without zone ${zone}`, 'without spot', 'demand of * × 2'],
    isAtRest: true,
  });
});

for (const [query, init, status, code] of [
  ['without=zone%3Dnowhere', {}, 400, 'what_if_refused'],
  ['', {}, 400, 'what_if_refused'],
  ['zone=x', {}, 400, 'unknown_parameter'],
  ['demand=*%3D2', { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'foreign_page'],
] as const) {
  it(`Y5: refuses "${query}" ${JSON.stringify(init)} with ${status} ${code}`, async () => {
    const response = await fetch(`${url}?${query}`, init);
    expect(response.status).toBe(status);
    expect(((await response.json()) as ApiError).error.code).toBe(code);
  });
}

it('Y5: refuses a second question with 409, and one whose client goes away makes room', async () => {
  live.threads.gate = new Promise(() => {});
  const closed = live.threads.closed;
  const gone = new AbortController();
  const first = fetch(`${url}?demand=*%3D2`, { signal: gone.signal });
  expect((await first).status).toBe(200);
  const second = await fetch(`${url}?demand=*%3D2`);
  expect(second.status).toBe(409);
  expect(((await second.json()) as ApiError).error.code).toBe('what_if_busy');
  gone.abort();
  await expect.poll(() => live.threads.closed).toBeGreaterThan(closed);
  live.threads.gate = Promise.resolve();
  expect((await fetch(`${url}?demand=*%3D1`)).status).toBe(200);
});
