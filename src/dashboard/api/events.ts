/** /api/v1/events: the history of a machine, a need, a cluster, an offering, a provider, or of all. */
import { EVENT_KINDS, type EventKind } from '../../machine/event.ts';
import type { MachineState } from '../../machine/state.ts';
import type { EventReader, ToldEvent } from '../../shard/ports/events.ts';
import { ApiRefusal, type Query } from './query.ts';
import { stateName } from './render.ts';
import type { ApiEvent, ApiEvents } from './types.ts';

const TOLD_KINDS = EVENT_KINDS.filter((kind) => kind !== 'none');

/** `reader` is null if the shard keeps no history. */
export async function events(
  reader: EventReader | null,
  query: Query,
  rowsUsual: number,
  nowMs: number,
): Promise<ApiEvents> {
  const sinceMs = query.integer('since', 0, Number.MAX_SAFE_INTEGER);
  const untilMs = query.integer('until', 0, Number.MAX_SAFE_INTEGER);
  const asked = {
    machineId: query.text('machine'),
    clusterId: query.text('cluster'),
    fingerprint: query.text('fingerprint'),
    group: query.text('group'),
    provider: query.text('provider'),
    offering: query.text('offering'),
    kinds: query.someOf<EventKind>('kind', TOLD_KINDS),
    limit: query.limit(rowsUsual),
    before: query.text('after'),
    ...(sinceMs === 0 ? {} : { sinceMs }),
    ...(untilMs === 0 ? {} : { untilMs }),
  };
  query.end();
  if (reader === null) {
    throw new ApiRefusal(
      404,
      'no_history',
      'This shard keeps no history.',
      'Its --max-history-bytes is 0.',
      'Start it with another value; the history begins then.',
    );
  }
  const page = await reader.read(asked);
  return {
    nowMs,
    beginsAtMs: page.beginsAtMs,
    wholeSinceAtMs: page.wholeSinceMs,
    gaps: page.gaps.map(({ fromMs, toMs, why }) => ({ fromAtMs: fromMs, toAtMs: toMs, why })),
    bytes: page.bytes,
    events: page.events.map(eventOf),
    next: page.next,
  };
}

function eventOf(event: ToldEvent): ApiEvent {
  return {
    kind: event.kind,
    atMs: event.atMs,
    epoch: event.epoch,
    cycle: event.cycle,
    sentence: event.sentence,
    machineId: event.machineId,
    clusterId: event.clusterId,
    forClusterId: event.forClusterId,
    fingerprint: event.fingerprint,
    group: event.group,
    priority: event.priority,
    provider: event.provider,
    offering: event.offering,
    from: event.from === 0 ? '' : stateName(event.from as MachineState),
    to: event.to === 0 ? '' : stateName(event.to as MachineState),
    detail: event.detail,
  };
}
