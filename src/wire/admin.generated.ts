// Generated from proto/ by src/wire/generate.ts. Do not edit: change the .proto files and generate again.

export interface Scope {
  readonly cluster: string;
  readonly provider: string;
  readonly zone: string;
  readonly instanceType: string;
  readonly capacityType: string;
  readonly machine: string;
}

export interface ScopeInit {
  readonly cluster?: string | undefined;
  readonly provider?: string | undefined;
  readonly zone?: string | undefined;
  readonly instanceType?: string | undefined;
  readonly capacityType?: string | undefined;
  readonly machine?: string | undefined;
}

export interface Control {
  readonly id: string;
  readonly pauses: readonly string[];
  readonly scope: Scope | null;
  readonly who: string;
  readonly why: string;
  readonly via: string;
  readonly sinceUnixMs: number;
  readonly untilUnixMs: number;
  readonly declared: boolean;
  readonly stopped: number;
  readonly holding: number;
}

export interface ControlInit {
  readonly id?: string | undefined;
  readonly pauses?: readonly string[] | undefined;
  readonly scope?: ScopeInit | null | undefined;
  readonly who?: string | undefined;
  readonly why?: string | undefined;
  readonly via?: string | undefined;
  readonly sinceUnixMs?: number | undefined;
  readonly untilUnixMs?: number | undefined;
  readonly declared?: boolean | undefined;
  readonly stopped?: number | undefined;
  readonly holding?: number | undefined;
}

export interface PauseRequest {
  readonly pauses: readonly string[];
  readonly scope: Scope | null;
  readonly forMs: number;
  readonly who: string;
  readonly why: string;
}

export interface PauseRequestInit {
  readonly pauses?: readonly string[] | undefined;
  readonly scope?: ScopeInit | null | undefined;
  readonly forMs?: number | undefined;
  readonly who?: string | undefined;
  readonly why?: string | undefined;
}

export interface PauseReply {
  readonly control: Control | null;
  readonly warning: string;
}

export interface PauseReplyInit {
  readonly control?: ControlInit | null | undefined;
  readonly warning?: string | undefined;
}

export interface ResumeRequest {
  readonly id: string;
  readonly pauses: readonly string[];
  readonly scope: Scope | null;
  readonly every: boolean;
  readonly who: string;
  readonly why: string;
}

export interface ResumeRequestInit {
  readonly id?: string | undefined;
  readonly pauses?: readonly string[] | undefined;
  readonly scope?: ScopeInit | null | undefined;
  readonly every?: boolean | undefined;
  readonly who?: string | undefined;
  readonly why?: string | undefined;
}

export interface ResumeReply {
  readonly lifted: readonly Control[];
  readonly warning: string;
}

export interface ResumeReplyInit {
  readonly lifted?: readonly ControlInit[] | undefined;
  readonly warning?: string | undefined;
}

export interface ListControlsRequest {

}

export interface ListControlsRequestInit {

}

export interface ListControlsReply {
  readonly controls: readonly Control[];
  readonly shardId: string;
  readonly warning: string;
}

export interface ListControlsReplyInit {
  readonly controls?: readonly ControlInit[] | undefined;
  readonly shardId?: string | undefined;
  readonly warning?: string | undefined;
}

export interface ConfirmRemovalRequest {
  readonly provider: string;
  readonly who: string;
  readonly why: string;
}

export interface ConfirmRemovalRequestInit {
  readonly provider?: string | undefined;
  readonly who?: string | undefined;
  readonly why?: string | undefined;
}

export interface ConfirmRemovalReply {
  readonly provider: string;
  readonly known: number;
  readonly missing: number;
}

export interface ConfirmRemovalReplyInit {
  readonly provider?: string | undefined;
  readonly known?: number | undefined;
  readonly missing?: number | undefined;
}

export interface OrderRequest {
  readonly order: string;
  readonly scopes: readonly Scope[];
  readonly forMs: number;
  readonly preview: boolean;
  readonly who: string;
  readonly why: string;
}

export interface OrderRequestInit {
  readonly order?: string | undefined;
  readonly scopes?: readonly ScopeInit[] | undefined;
  readonly forMs?: number | undefined;
  readonly preview?: boolean | undefined;
  readonly who?: string | undefined;
  readonly why?: string | undefined;
}

export interface OrderReply {
  readonly controls: readonly Control[];
  readonly machines: number;
  readonly lines: readonly string[];
  readonly warning: string;
}

export interface OrderReplyInit {
  readonly controls?: readonly ControlInit[] | undefined;
  readonly machines?: number | undefined;
  readonly lines?: readonly string[] | undefined;
  readonly warning?: string | undefined;
}

export interface WhatIfRequest {
  readonly without: readonly string[];
  readonly demand: readonly string[];
  readonly add: readonly string[];
  readonly price: readonly string[];
  readonly set: readonly string[];
  readonly latency: readonly string[];
  readonly rollups: readonly string[];
}

export interface WhatIfRequestInit {
  readonly without?: readonly string[] | undefined;
  readonly demand?: readonly string[] | undefined;
  readonly add?: readonly string[] | undefined;
  readonly price?: readonly string[] | undefined;
  readonly set?: readonly string[] | undefined;
  readonly latency?: readonly string[] | undefined;
  readonly rollups?: readonly string[] | undefined;
}

export interface WhatIfReply {
  readonly line: string;
}

export interface WhatIfReplyInit {
  readonly line?: string | undefined;
}

export interface Messages {
  Scope: Scope;
  Control: Control;
  PauseRequest: PauseRequest;
  PauseReply: PauseReply;
  ResumeRequest: ResumeRequest;
  ResumeReply: ResumeReply;
  ListControlsRequest: ListControlsRequest;
  ListControlsReply: ListControlsReply;
  ConfirmRemovalRequest: ConfirmRemovalRequest;
  ConfirmRemovalReply: ConfirmRemovalReply;
  OrderRequest: OrderRequest;
  OrderReply: OrderReply;
  WhatIfRequest: WhatIfRequest;
  WhatIfReply: WhatIfReply;
}

export interface MessageInits {
  Scope: ScopeInit;
  Control: ControlInit;
  PauseRequest: PauseRequestInit;
  PauseReply: PauseReplyInit;
  ResumeRequest: ResumeRequestInit;
  ResumeReply: ResumeReplyInit;
  ListControlsRequest: ListControlsRequestInit;
  ListControlsReply: ListControlsReplyInit;
  ConfirmRemovalRequest: ConfirmRemovalRequestInit;
  ConfirmRemovalReply: ConfirmRemovalReplyInit;
  OrderRequest: OrderRequestInit;
  OrderReply: OrderReplyInit;
  WhatIfRequest: WhatIfRequestInit;
  WhatIfReply: WhatIfReplyInit;
}

export const DESCRIPTOR = {
  Admin: {"methods":{"Pause":{"requestType":"PauseRequest","responseType":"PauseReply"},"Resume":{"requestType":"ResumeRequest","responseType":"ResumeReply"},"ListControls":{"requestType":"ListControlsRequest","responseType":"ListControlsReply"},"ConfirmRemoval":{"requestType":"ConfirmRemovalRequest","responseType":"ConfirmRemovalReply"},"Order":{"requestType":"OrderRequest","responseType":"OrderReply"},"WhatIf":{"requestType":"WhatIfRequest","responseType":"WhatIfReply","responseStream":true}}},
  Scope: {"fields":{"cluster":{"type":"string","id":1},"provider":{"type":"string","id":2},"zone":{"type":"string","id":3},"instanceType":{"type":"string","id":4,"protoName":"instance_type"},"capacityType":{"type":"string","id":5,"protoName":"capacity_type"},"machine":{"type":"string","id":6}}},
  Control: {"fields":{"id":{"type":"string","id":1},"pauses":{"rule":"repeated","type":"string","id":2},"scope":{"type":"Scope","id":3},"who":{"type":"string","id":4},"why":{"type":"string","id":5},"via":{"type":"string","id":6},"sinceUnixMs":{"type":"int64","id":7,"protoName":"since_unix_ms"},"untilUnixMs":{"type":"int64","id":8,"protoName":"until_unix_ms"},"declared":{"type":"bool","id":9},"stopped":{"type":"int64","id":10},"holding":{"type":"int64","id":11}}},
  PauseRequest: {"fields":{"pauses":{"rule":"repeated","type":"string","id":1},"scope":{"type":"Scope","id":2},"forMs":{"type":"int64","id":3,"protoName":"for_ms"},"who":{"type":"string","id":4},"why":{"type":"string","id":5}}},
  PauseReply: {"fields":{"control":{"type":"Control","id":1},"warning":{"type":"string","id":2}}},
  ResumeRequest: {"fields":{"id":{"type":"string","id":1},"pauses":{"rule":"repeated","type":"string","id":2},"scope":{"type":"Scope","id":3},"every":{"type":"bool","id":4},"who":{"type":"string","id":5},"why":{"type":"string","id":6}}},
  ResumeReply: {"fields":{"lifted":{"rule":"repeated","type":"Control","id":1},"warning":{"type":"string","id":2}}},
  ListControlsRequest: {"fields":{}},
  ListControlsReply: {"fields":{"controls":{"rule":"repeated","type":"Control","id":1},"shardId":{"type":"string","id":2,"protoName":"shard_id"},"warning":{"type":"string","id":3}}},
  ConfirmRemovalRequest: {"fields":{"provider":{"type":"string","id":1},"who":{"type":"string","id":2},"why":{"type":"string","id":3}}},
  ConfirmRemovalReply: {"fields":{"provider":{"type":"string","id":1},"known":{"type":"int64","id":2},"missing":{"type":"int64","id":3}}},
  OrderRequest: {"fields":{"order":{"type":"string","id":1},"scopes":{"rule":"repeated","type":"Scope","id":2},"forMs":{"type":"int64","id":3,"protoName":"for_ms"},"preview":{"type":"bool","id":4},"who":{"type":"string","id":5},"why":{"type":"string","id":6}}},
  OrderReply: {"fields":{"controls":{"rule":"repeated","type":"Control","id":1},"machines":{"type":"int64","id":2},"lines":{"rule":"repeated","type":"string","id":3},"warning":{"type":"string","id":4}}},
  WhatIfRequest: {"fields":{"without":{"rule":"repeated","type":"string","id":1},"demand":{"rule":"repeated","type":"string","id":2},"add":{"rule":"repeated","type":"string","id":3},"price":{"rule":"repeated","type":"string","id":4},"set":{"rule":"repeated","type":"string","id":5},"latency":{"rule":"repeated","type":"string","id":6},"rollups":{"rule":"repeated","type":"string","id":7}}},
  WhatIfReply: {"fields":{"line":{"type":"string","id":1}}},
};

