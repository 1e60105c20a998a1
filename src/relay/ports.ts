/** What the relay stands between: the operators' server, which admits streams, and the replica that serves them. */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { status } from '@grpc/grpc-js';

/** A client's stream that the operators' server admitted, unread. */
export interface AdmittedStream {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Gives the stream to the server of this replica; its data must be unread, or have been put back. */
  pass(): void;
  /** T11: the stream has sent what a call begins with. */
  opened(): void;
}

/** The active replica, as the directory shows it. */
export interface ActiveReplica {
  /** Its name, for people. */
  readonly replica: string;
  /** Each process has its own. */
  readonly instance: string;
  readonly epoch: number;
  /** `host:port` of its port for operators; they are dialled in turn. */
  readonly addresses: readonly string[];
  /** It is this process: then the relay holds streams until the server of this replica takes them. */
  readonly isSelf: boolean;
}

export interface ActiveReplicaSource {
  /** Null if no replica is active. */
  current(): ActiveReplica | null;
  /** Calls the listener after every change. Returns a function that ends that. */
  onChange(listener: () => void): () => void;
}

/** F7: which shard each cluster belongs to. */
export interface ClusterRoutes {
  /** '' if the cluster has none, as far as this replica knows. */
  shardOf(cluster: string): string;
  /** Calls back once with the cluster's shard, unless the returned function is called before. null: too many clusters wait. */
  place(cluster: string, whenPlaced: (shard: string) => void): (() => void) | null;
  /** Why clusters wait for a shard; '' if nothing is known. */
  readonly why: string;
}

/** What a stream became: a relay has it, or null: this server does. */
export type TakeStream = (admitted: AdmittedStream) => RelayedCall | null;

/** A call that ends with its client's connection. */
export interface RelayedCall {
  retire(): boolean;
  end(code: status, details: string): void;
}
