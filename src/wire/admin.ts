/** The admin service of a shard (proto/flotilla/admin), in the form that grpc-js takes. */
import { DESCRIPTOR, type MessageInits, type Messages } from './admin.generated.ts';
import { MessageCodec } from './message-codec.ts';
import type { Method } from './services.ts';

export type {
  ConfirmRemovalReply,
  ConfirmRemovalReplyInit,
  ConfirmRemovalRequest,
  ConfirmRemovalRequestInit,
  ControlInit,
  ListControlsReply,
  ListControlsReplyInit,
  OrderReply,
  OrderReplyInit,
  OrderRequest,
  OrderRequestInit,
  PauseReply,
  PauseReplyInit,
  PauseRequest,
  PauseRequestInit,
  ResumeReply,
  ResumeReplyInit,
  ResumeRequest,
  ResumeRequestInit,
  Scope,
  WhatIfReply,
  WhatIfReplyInit,
  WhatIfRequest,
  WhatIfRequestInit,
} from './admin.generated.ts';
export type AdminControl = Messages['Control'];

const codec = new MessageCodec<Messages, MessageInits>('flotilla.admin.v1', DESCRIPTOR);

export const adminService = {
  Pause: unary('Pause', 'PauseRequest', 'PauseReply'),
  Resume: unary('Resume', 'ResumeRequest', 'ResumeReply'),
  ListControls: unary('ListControls', 'ListControlsRequest', 'ListControlsReply'),
  ConfirmRemoval: unary('ConfirmRemoval', 'ConfirmRemovalRequest', 'ConfirmRemovalReply'),
  Order: unary('Order', 'OrderRequest', 'OrderReply'),
  WhatIf: { ...unary('WhatIf', 'WhatIfRequest', 'WhatIfReply'), responseStream: true },
};

function unary<Request extends keyof Messages & string, Response extends keyof Messages & string>(
  name: string,
  request: Request,
  response: Response,
): Method<MessageInits[Request], Messages[Request], MessageInits[Response], Messages[Response]> {
  return {
    path: `/flotilla.admin.v1.Admin/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message) => codec.encode(request, message),
    requestDeserialize: (bytes) => codec.decode(request, bytes),
    responseSerialize: (message) => codec.encode(response, message),
    responseDeserialize: (bytes) => codec.decode(response, bytes),
  };
}
