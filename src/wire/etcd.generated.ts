// Generated from proto/ by src/wire/generate.ts. Do not edit: change the .proto files and generate again.

export const CompareCompareResult = {
  EQUAL: 0,
} as const;

export const CompareCompareTarget = {
  VERSION: 0,
  CREATE: 1,
  MOD: 2,
  VALUE: 3,
} as const;

export const EventEventType = {
  PUT: 0,
  DELETE: 1,
} as const;

export interface ResponseHeader {
  readonly clusterId: number;
  readonly revision: number;
}

export interface ResponseHeaderInit {
  readonly clusterId?: number | undefined;
  readonly revision?: number | undefined;
}

export interface KeyValue {
  readonly key: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Uint8Array;
  readonly lease: number;
}

export interface KeyValueInit {
  readonly key?: Uint8Array | undefined;
  readonly createRevision?: number | undefined;
  readonly modRevision?: number | undefined;
  readonly value?: Uint8Array | undefined;
  readonly lease?: number | undefined;
}

export interface RangeRequest {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
  readonly limit: number;
  readonly revision: number;
}

export interface RangeRequestInit {
  readonly key?: Uint8Array | undefined;
  readonly rangeEnd?: Uint8Array | undefined;
  readonly limit?: number | undefined;
  readonly revision?: number | undefined;
}

export interface RangeResponse {
  readonly header: ResponseHeader | null;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

export interface RangeResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
  readonly kvs?: readonly KeyValueInit[] | undefined;
  readonly more?: boolean | undefined;
}

export interface PutRequest {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly lease: number;
}

export interface PutRequestInit {
  readonly key?: Uint8Array | undefined;
  readonly value?: Uint8Array | undefined;
  readonly lease?: number | undefined;
}

export interface DeleteRangeRequest {
  readonly key: Uint8Array;
}

export interface DeleteRangeRequestInit {
  readonly key?: Uint8Array | undefined;
}

export interface RequestOp {
  readonly requestRange: RangeRequest | null;
  readonly requestPut: PutRequest | null;
  readonly requestDeleteRange: DeleteRangeRequest | null;
  /** Which of these is set. */
  readonly request: 'requestRange' | 'requestPut' | 'requestDeleteRange' | undefined;
}

export interface RequestOpInit {
  readonly requestRange?: RangeRequestInit | null | undefined;
  readonly requestPut?: PutRequestInit | null | undefined;
  readonly requestDeleteRange?: DeleteRangeRequestInit | null | undefined;
}

export interface ResponseOp {
  readonly responseRange: RangeResponse | null;
  /** Which of these is set. */
  readonly response: 'responseRange' | undefined;
}

export interface ResponseOpInit {
  readonly responseRange?: RangeResponseInit | null | undefined;
}

export interface Compare {
  readonly result: number;
  readonly target: number;
  readonly key: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly value: Uint8Array;
  /** Which of these is set. */
  readonly targetUnion: 'createRevision' | 'modRevision' | 'value' | undefined;
}

export interface CompareInit {
  readonly result?: number | undefined;
  readonly target?: number | undefined;
  readonly key?: Uint8Array | undefined;
  readonly createRevision?: number | undefined;
  readonly modRevision?: number | undefined;
  readonly value?: Uint8Array | undefined;
}

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

export interface TxnRequestInit {
  readonly compare?: readonly CompareInit[] | undefined;
  readonly success?: readonly RequestOpInit[] | undefined;
  readonly failure?: readonly RequestOpInit[] | undefined;
}

export interface TxnResponse {
  readonly header: ResponseHeader | null;
  readonly succeeded: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface TxnResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
  readonly succeeded?: boolean | undefined;
  readonly responses?: readonly ResponseOpInit[] | undefined;
}

export interface Event {
  readonly type: number;
  readonly kv: KeyValue | null;
}

export interface EventInit {
  readonly type?: number | undefined;
  readonly kv?: KeyValueInit | null | undefined;
}

export interface WatchRequest {
  readonly createRequest: WatchCreateRequest | null;
  readonly progressRequest: WatchProgressRequest | null;
  /** Which of these is set. */
  readonly requestUnion: 'createRequest' | 'progressRequest' | undefined;
}

export interface WatchRequestInit {
  readonly createRequest?: WatchCreateRequestInit | null | undefined;
  readonly progressRequest?: WatchProgressRequestInit | null | undefined;
}

export interface WatchCreateRequest {
  readonly key: Uint8Array;
  readonly rangeEnd: Uint8Array;
  readonly startRevision: number;
  readonly fragment: boolean;
}

export interface WatchCreateRequestInit {
  readonly key?: Uint8Array | undefined;
  readonly rangeEnd?: Uint8Array | undefined;
  readonly startRevision?: number | undefined;
  readonly fragment?: boolean | undefined;
}

export interface WatchProgressRequest {

}

export interface WatchProgressRequestInit {

}

export interface WatchResponse {
  readonly header: ResponseHeader | null;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly cancelReason: string;
  readonly fragment: boolean;
  readonly events: readonly Event[];
}

export interface WatchResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
  readonly created?: boolean | undefined;
  readonly canceled?: boolean | undefined;
  readonly compactRevision?: number | undefined;
  readonly cancelReason?: string | undefined;
  readonly fragment?: boolean | undefined;
  readonly events?: readonly EventInit[] | undefined;
}

export interface LeaseGrantRequest {
  readonly TTL: number;
  readonly ID: number;
}

export interface LeaseGrantRequestInit {
  readonly TTL?: number | undefined;
  readonly ID?: number | undefined;
}

export interface LeaseGrantResponse {
  readonly header: ResponseHeader | null;
  readonly ID: number;
  readonly TTL: number;
}

export interface LeaseGrantResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
  readonly ID?: number | undefined;
  readonly TTL?: number | undefined;
}

export interface LeaseRevokeRequest {
  readonly ID: number;
}

export interface LeaseRevokeRequestInit {
  readonly ID?: number | undefined;
}

export interface LeaseRevokeResponse {
  readonly header: ResponseHeader | null;
}

export interface LeaseRevokeResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
}

export interface LeaseKeepAliveRequest {
  readonly ID: number;
}

export interface LeaseKeepAliveRequestInit {
  readonly ID?: number | undefined;
}

export interface LeaseKeepAliveResponse {
  readonly header: ResponseHeader | null;
  readonly ID: number;
  readonly TTL: number;
}

export interface LeaseKeepAliveResponseInit {
  readonly header?: ResponseHeaderInit | null | undefined;
  readonly ID?: number | undefined;
  readonly TTL?: number | undefined;
}

export interface Messages {
  ResponseHeader: ResponseHeader;
  KeyValue: KeyValue;
  RangeRequest: RangeRequest;
  RangeResponse: RangeResponse;
  PutRequest: PutRequest;
  DeleteRangeRequest: DeleteRangeRequest;
  RequestOp: RequestOp;
  ResponseOp: ResponseOp;
  Compare: Compare;
  TxnRequest: TxnRequest;
  TxnResponse: TxnResponse;
  Event: Event;
  WatchRequest: WatchRequest;
  WatchCreateRequest: WatchCreateRequest;
  WatchProgressRequest: WatchProgressRequest;
  WatchResponse: WatchResponse;
  LeaseGrantRequest: LeaseGrantRequest;
  LeaseGrantResponse: LeaseGrantResponse;
  LeaseRevokeRequest: LeaseRevokeRequest;
  LeaseRevokeResponse: LeaseRevokeResponse;
  LeaseKeepAliveRequest: LeaseKeepAliveRequest;
  LeaseKeepAliveResponse: LeaseKeepAliveResponse;
}

export interface MessageInits {
  ResponseHeader: ResponseHeaderInit;
  KeyValue: KeyValueInit;
  RangeRequest: RangeRequestInit;
  RangeResponse: RangeResponseInit;
  PutRequest: PutRequestInit;
  DeleteRangeRequest: DeleteRangeRequestInit;
  RequestOp: RequestOpInit;
  ResponseOp: ResponseOpInit;
  Compare: CompareInit;
  TxnRequest: TxnRequestInit;
  TxnResponse: TxnResponseInit;
  Event: EventInit;
  WatchRequest: WatchRequestInit;
  WatchCreateRequest: WatchCreateRequestInit;
  WatchProgressRequest: WatchProgressRequestInit;
  WatchResponse: WatchResponseInit;
  LeaseGrantRequest: LeaseGrantRequestInit;
  LeaseGrantResponse: LeaseGrantResponseInit;
  LeaseRevokeRequest: LeaseRevokeRequestInit;
  LeaseRevokeResponse: LeaseRevokeResponseInit;
  LeaseKeepAliveRequest: LeaseKeepAliveRequestInit;
  LeaseKeepAliveResponse: LeaseKeepAliveResponseInit;
}

export const DESCRIPTOR = {
  KV: {"methods":{"Range":{"requestType":"RangeRequest","responseType":"RangeResponse"},"Txn":{"requestType":"TxnRequest","responseType":"TxnResponse"}}},
  Watch: {"methods":{"Watch":{"requestType":"WatchRequest","requestStream":true,"responseType":"WatchResponse","responseStream":true}}},
  Lease: {"methods":{"LeaseGrant":{"requestType":"LeaseGrantRequest","responseType":"LeaseGrantResponse"},"LeaseRevoke":{"requestType":"LeaseRevokeRequest","responseType":"LeaseRevokeResponse"},"LeaseKeepAlive":{"requestType":"LeaseKeepAliveRequest","requestStream":true,"responseType":"LeaseKeepAliveResponse","responseStream":true}}},
  ResponseHeader: {"fields":{"clusterId":{"type":"int64","id":1,"protoName":"cluster_id"},"revision":{"type":"int64","id":3}}},
  KeyValue: {"fields":{"key":{"type":"bytes","id":1},"createRevision":{"type":"int64","id":2,"protoName":"create_revision"},"modRevision":{"type":"int64","id":3,"protoName":"mod_revision"},"value":{"type":"bytes","id":5},"lease":{"type":"int64","id":6}}},
  RangeRequest: {"fields":{"key":{"type":"bytes","id":1},"rangeEnd":{"type":"bytes","id":2,"protoName":"range_end"},"limit":{"type":"int64","id":3},"revision":{"type":"int64","id":4}}},
  RangeResponse: {"fields":{"header":{"type":"ResponseHeader","id":1},"kvs":{"rule":"repeated","type":"KeyValue","id":2},"more":{"type":"bool","id":3}}},
  PutRequest: {"fields":{"key":{"type":"bytes","id":1},"value":{"type":"bytes","id":2},"lease":{"type":"int64","id":3}}},
  DeleteRangeRequest: {"fields":{"key":{"type":"bytes","id":1}}},
  RequestOp: {"oneofs":{"request":{"oneof":["requestRange","requestPut","requestDeleteRange"]}},"fields":{"requestRange":{"type":"RangeRequest","id":1,"protoName":"request_range"},"requestPut":{"type":"PutRequest","id":2,"protoName":"request_put"},"requestDeleteRange":{"type":"DeleteRangeRequest","id":3,"protoName":"request_delete_range"}}},
  ResponseOp: {"oneofs":{"response":{"oneof":["responseRange"]}},"fields":{"responseRange":{"type":"RangeResponse","id":1,"protoName":"response_range"}}},
  Compare: {"oneofs":{"targetUnion":{"oneof":["createRevision","modRevision","value"]}},"fields":{"result":{"type":"CompareResult","id":1},"target":{"type":"CompareTarget","id":2},"key":{"type":"bytes","id":3},"createRevision":{"type":"int64","id":5,"protoName":"create_revision"},"modRevision":{"type":"int64","id":6,"protoName":"mod_revision"},"value":{"type":"bytes","id":7}},"nested":{"CompareResult":{"values":{"EQUAL":0}},"CompareTarget":{"values":{"VERSION":0,"CREATE":1,"MOD":2,"VALUE":3}}}},
  TxnRequest: {"fields":{"compare":{"rule":"repeated","type":"Compare","id":1},"success":{"rule":"repeated","type":"RequestOp","id":2},"failure":{"rule":"repeated","type":"RequestOp","id":3}}},
  TxnResponse: {"fields":{"header":{"type":"ResponseHeader","id":1},"succeeded":{"type":"bool","id":2},"responses":{"rule":"repeated","type":"ResponseOp","id":3}}},
  Event: {"fields":{"type":{"type":"EventType","id":1},"kv":{"type":"KeyValue","id":2}},"nested":{"EventType":{"values":{"PUT":0,"DELETE":1}}}},
  WatchRequest: {"oneofs":{"requestUnion":{"oneof":["createRequest","progressRequest"]}},"fields":{"createRequest":{"type":"WatchCreateRequest","id":1,"protoName":"create_request"},"progressRequest":{"type":"WatchProgressRequest","id":3,"protoName":"progress_request"}}},
  WatchCreateRequest: {"fields":{"key":{"type":"bytes","id":1},"rangeEnd":{"type":"bytes","id":2,"protoName":"range_end"},"startRevision":{"type":"int64","id":3,"protoName":"start_revision"},"fragment":{"type":"bool","id":8}}},
  WatchProgressRequest: {"fields":{}},
  WatchResponse: {"fields":{"header":{"type":"ResponseHeader","id":1},"created":{"type":"bool","id":3},"canceled":{"type":"bool","id":4},"compactRevision":{"type":"int64","id":5,"protoName":"compact_revision"},"cancelReason":{"type":"string","id":6,"protoName":"cancel_reason"},"fragment":{"type":"bool","id":7},"events":{"rule":"repeated","type":"Event","id":11}}},
  LeaseGrantRequest: {"fields":{"TTL":{"type":"int64","id":1},"ID":{"type":"int64","id":2}}},
  LeaseGrantResponse: {"fields":{"header":{"type":"ResponseHeader","id":1},"ID":{"type":"int64","id":2},"TTL":{"type":"int64","id":3}}},
  LeaseRevokeRequest: {"fields":{"ID":{"type":"int64","id":1}}},
  LeaseRevokeResponse: {"fields":{"header":{"type":"ResponseHeader","id":1}}},
  LeaseKeepAliveRequest: {"fields":{"ID":{"type":"int64","id":1}}},
  LeaseKeepAliveResponse: {"fields":{"header":{"type":"ResponseHeader","id":1},"ID":{"type":"int64","id":2},"TTL":{"type":"int64","id":3}}},
};

