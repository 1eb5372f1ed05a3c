import type { TraceContext } from "./http/trace-context.ts";
import type { PassedUsage } from "./rules/passed-usage.ts";
import type { JsonObject, Principal } from "./turn.ts";

/** APIs without turns, which some upstreams have. */
export type PassedApi = "embeddings" | "completions";

/** A request that is passed on to an upstream as it is, but for the model's name. */
export interface PassedRequest {
  readonly api: PassedApi;
  readonly principal: Principal;
  /** The client's name of the model. */
  readonly model: string;
  readonly body: JsonObject;
  /** What the model reads, by estimate. */
  readonly inputTokens: number;
  /** Ids of the gateways that the request has passed before this one. */
  readonly hops: readonly string[];
  readonly trace?: TraceContext | undefined;
}

/** The upstream's answer. Leaving the iteration early cancels the request. */
export interface PassedAnswer {
  readonly contentType: string;
  readonly body: AsyncIterable<Uint8Array>;
}

/** An answer whose usage is counted as it is read. */
export interface MeteredAnswer extends PassedAnswer {
  readonly used: PassedUsage;
}
