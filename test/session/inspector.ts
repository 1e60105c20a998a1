/** A reader of ShardRead for tests. */
import { ChannelCredentials, Client, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import type { NeedView } from '../../src/shard/ports/view.ts';
import { toPlain } from '../../src/wire/codec.ts';
import type { InspectNeedsRequestInit, InspectNeedsResponse } from '../../src/wire/protocol.generated.ts';
import { shardReadService } from '../../src/wire/services.ts';

export const VIEW: NeedView = {
  clusterId: 'east',
  fingerprint: 'p=100|…',
  group: 'g-1',
  priority: 100,
  interruptionPenalty: 3,
  reclamationPenalty: 4,
  requirements: [{ key: 'zone', operator: 1, values: ['a'] }],
  spread: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 1 }],
  aggregate: { cpu: 8_000, memory: 16_777_216 },
  minUnit: { cpu: 500 },
  arrivalMs: 1_700_000_000_000,
  satisfied: false,
  deficit: { cpu: 4_000 },
  claimed: 1,
  bootstraps: 2,
  provisions: 3,
  domain: 'rack=r1',
  satisfiable: true,
  parked: true,
  parkedCycles: 9,
  cyclesUnmet: 12,
  reason: 2,
  limitedBy: '',
  context: {
    supply: { idle: 0, configured: 7, speculative: 2, isCapped: true },
    victims: 3,
    freed: { cpu: 12_000 },
    domains: [{ domain: 'rack=r1', covered: 0.7509 }],
  },
};

export interface Inspection {
  readonly code: string;
  readonly details: string;
  readonly frames: InspectNeedsResponse[];
}

/** `onFrame` may return false to cancel. */
export function inspect(
  address: string,
  request: InspectNeedsRequestInit,
  credentials = ChannelCredentials.createInsecure(),
  onFrame: (count: number) => boolean | Promise<void> = () => true,
): Promise<Inspection> {
  const client = new Client(address, credentials, { 'grpc.use_local_subchannel_pool': 1 });
  const { path, requestSerialize, responseDeserialize } = shardReadService.InspectNeeds;
  const call = client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    new Metadata(),
  );
  const frames: InspectNeedsResponse[] = [];
  call.on('data', (frame: InspectNeedsResponse) => {
    frames.push(toPlain('InspectNeedsResponse', frame));
    const goesOn = onFrame(frames.length);
    if (goesOn === false) call.cancel();
    else if (goesOn !== true) {
      call.pause();
      void goesOn.then(() => call.resume());
    }
  });
  call.on('error', () => {}); // the status reports it
  return new Promise((resolve) => {
    call.on('status', ({ code, details }: StatusObject) => {
      client.close();
      resolve({ code: status[code], details, frames });
    });
  });
}
