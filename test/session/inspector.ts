/** A reader of ShardRead for tests. */
import { ChannelCredentials, Client, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import { toPlain } from '../../src/wire/codec.ts';
import type { InspectNeedsRequestInit, InspectNeedsResponse } from '../../src/wire/protocol.generated.ts';
import { shardReadService } from '../../src/wire/services.ts';

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
