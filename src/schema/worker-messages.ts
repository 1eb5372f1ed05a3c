/** Asks the worker to compile a schema, and to check an answer if there is one. */
export interface WorkerRequest {
  /** The schema as JSON text. */
  readonly json: string;
  /** Of the schema. */
  readonly digest: string;
  /** JSON text. */
  readonly answer?: string;
}

export type WorkerReply =
  | { readonly type: "ready" }
  /** The schema compiles, and the answer matches if there is one. */
  | { readonly type: "good" }
  | { readonly type: "mismatch"; readonly problem: string }
  | { readonly type: "unusable"; readonly why: string };
