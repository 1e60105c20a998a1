/** Both placements and the best known in one table of docs/results.md, with the worlds in which value meets fewer needs. */
import type { ScenarioResult } from '../harness.ts';
import { figure, table } from '../report/markdown.ts';
import { KINDS } from './small-worlds.ts';

export function qualitySummary({ metrics }: ScenarioResult): readonly string[] {
  const of = (name: string, statistic: 'median' | 'p99' = 'median') => {
    const metric = metrics[name];
    return metric === undefined ? '' : figure(metric[statistic], metric.unit);
  };
  const kinds = KINDS.map((kind) => [
    kind,
    of(`${kind}: worlds`),
    of(`${kind}: cheapest ÷ best known`),
    of(`${kind}: cheapest ÷ best known`, 'p99'),
    of(`${kind}: value ÷ best known`),
    of(`${kind}: value ÷ best known`, 'p99'),
    of(`${kind}: cheapest: unmet needs, all worlds`),
    of(`${kind}: value: unmet needs, all worlds`),
    of(`${kind}: best known: unmet needs, all worlds`),
  ]);
  const fleets = ['small fleet', 'large fleet'].map((fleet) => [
    fleet,
    of(`${fleet}: value: needs`),
    of(`${fleet}: cheapest ÷ cheapest covers`),
    of(`${fleet}: value ÷ cheapest covers`),
    of(`${fleet}: cheapest ÷ cheapest covers, spanning gangs aside`),
    of(`${fleet}: value ÷ cheapest covers, spanning gangs aside`),
    of(`${fleet}: cheapest, where machines are Idle`),
    of(`${fleet}: value, where machines are Idle`),
  ]);
  return [
    'What decisions cost on small worlds, divided by the best that is known; and needs that they leave unmet.',
    table(
      [
        'worlds',
        'number',
        'cheapest',
        'p99',
        'value',
        'p99',
        'unmet by cheapest',
        'by value',
        'by the best known',
      ],
      kinds,
      'lrrrrrrrr',
    ),
    "New demand on the realistic fleet, divided by the sum of each need's cheapest cover; and its bill where machines are Idle.",
    table(
      [
        'fleet',
        'needs',
        'cheapest',
        'value',
        'cheapest, spanning gangs aside',
        'value, spanning gangs aside',
        'cheapest, some Idle',
        'value, some Idle',
      ],
      fleets,
      'lrrrrrrr',
    ),
  ];
}
