/** What-if questions over HTTP (Y4): parameters in, lines of progress and an answer out. A page and a command read the same lines. */
import type { WhatIfAnswer, WhatIfPort, WhatIfProgress } from '../../shard/ports/what-if.ts';
import { ApiRefusal, type Query } from './query.ts';

export const WHAT_IF_NAME = 'what-if';
/** The code of the error by which the shard says that it answers another question. */
export const WHAT_IF_BUSY = 'what_if_busy';

export type WhatIfLine = { readonly progress: WhatIfProgress } | { readonly answer: WhatIfAnswer };

/** Throws before the first line if the question cannot be asked. */
export async function* whatIfLines(
  whatIf: WhatIfPort | null,
  query: Query,
  isForeign: boolean,
  method: string,
  signal: AbortSignal,
): AsyncGenerator<WhatIfLine> {
  const texts = {
    without: query.texts('without'),
    demand: query.texts('demand'),
    add: query.texts('add'),
    price: query.texts('price'),
    set: query.texts('set'),
    latency: query.texts('latency'),
    rollups: [],
  };
  query.end();
  if (isForeign || method !== 'GET')
    throw new ApiRefusal(
      403,
      'foreign_page',
      'Another site asked.',
      'A question takes seconds of a core.',
      'Ask from the page itself.',
    );
  if (whatIf === null)
    throw new ApiRefusal(503, 'no_what_if', 'The server has no shard to ask.', '', 'See docs/api.md.');
  const waiting: WhatIfLine[] = [];
  let wake = () => {};
  const asked = whatIf.ask(
    texts,
    (progress) => {
      waiting.push({ progress });
      wake();
    },
    signal,
  );
  let isOver = false;
  const over = asked.finally(() => {
    isOver = true;
    wake();
  });
  over.catch(() => {}); // awaited below
  for (;;) {
    while (waiting.length > 0) yield waiting.shift()!;
    if (isOver) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (isOver || waiting.length > 0) resolve();
    });
  }
  yield { answer: await asked };
}
