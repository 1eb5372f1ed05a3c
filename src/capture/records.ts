/**
 * What a capture holds, in the order in which it happened. A capture is a list of records; those of one call have its
 * number.
 */
export type CaptureRecord =
  | { readonly type: "call"; readonly call: number; readonly at: number; readonly head: CallHead }
  | { readonly type: "response"; readonly call: number; readonly at: number; readonly head: ResponseInfo }
  | ({ readonly type: "message"; readonly call: number; readonly at: number } & CapturedMessage)
  | { readonly type: "end"; readonly call: number; readonly at: number; readonly end: CallEnd }
  | { readonly type: "note"; readonly call: number; readonly at: number; readonly note: CaptureNote };

export interface CallHead {
  readonly method: string;
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: "h1" | "h2";
  /** `client`: between a client and the gateway. Absent: between the gateway and an upstream. */
  readonly wire?: "client";
  /** The id of the request in the usage record, of which it is a part. Absent: the protocol names the conversation. */
  readonly requestId?: string | undefined;
}

export interface ResponseInfo {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface CapturedMessage {
  readonly direction: "sent" | "received";
  /** `frame`: a message in Connect's envelope. `event`: one of a stream of server-sent events. `body`: a whole body. */
  readonly form: "frame" | "event" | "body";
  /** Flags of the envelope; 0 for other forms. */
  readonly flags: number;
  /** True if it was compressed on the wire. The bytes are the decompressed ones. */
  readonly wasCompressed: boolean;
  readonly bytes: Uint8Array;
}

/** How the backend broke off an answer, beside its outcome. */
export interface CallCut {
  /** The code with which it reset the stream. */
  readonly http2Code?: number;
  /** It reset the connection. */
  readonly isTcpReset?: true;
  /** The answer ends in the middle of a frame. */
  readonly isInFrame?: true;
}

export interface CallEnd {
  /** `ok`, `aborted` (by the client), or the code of the failure. */
  readonly outcome: string;
  readonly cut?: CallCut | undefined;
  readonly trailers?: Readonly<Record<string, string>> | undefined;
  /** On the wire. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export type CaptureNote =
  /** The call belongs to this conversation. */
  | { readonly type: "conversation"; readonly id: string }
  /** A message is not in the capture, and why. */
  | { readonly type: "omitted"; readonly reason: string; readonly bytes: number }
  /** The capture ended before its time, and why. It belongs to no call, and is the last record. */
  | { readonly type: "ended"; readonly reason: string };
