import { randomUUID } from "node:crypto";
import type { ModelEncoding, ResolvedModel } from "../models/model.ts";
import { type FailedAttempt, type NextAttempt, nextAttempt, pauseMs } from "./retry.ts";

type Circumstances = Omit<FailedAttempt, "hasOtherEncoding" | "hasMaxMode" | "tried" | "resumes" | "ageMs">;

/** The attempts of one run: what was tried, with which model encoding, and what may follow. */
export class Attempts {
  readonly #tried = new Set<NextAttempt>();
  readonly #model: ResolvedModel;
  #encoding: ModelEncoding;
  #resumes = 0;
  #openedAt = 0;
  #firstRequestId: string | undefined;

  constructor(model: ResolvedModel) {
    this.#model = model;
    this.#encoding = model.encodings[0];
  }

  get encoding(): ModelEncoding {
    return this.#encoding;
  }

  /** True if the model's other encoding was needed. */
  get isOtherEncoding(): boolean {
    return this.#tried.has("other-encoding");
  }

  /** Starts an attempt, and returns its request ids. */
  open(): { readonly requestId: string; readonly originalRequestId?: string } {
    this.#openedAt = performance.now();
    const requestId = randomUUID();
    const first = this.#firstRequestId;
    this.#firstRequestId ??= requestId;
    return { requestId, ...(first === undefined ? {} : { originalRequestId: first }) };
  }

  /** Returns the next attempt after a failure and when to make it, or undefined. Records it as tried. */
  next(failure: Circumstances): { readonly type: NextAttempt; readonly pauseMs: number } | undefined {
    const other = this.#model.encodings.find((encoding) => encoding && encoding.kind !== this.#encoding.kind);
    const type = nextAttempt({
      ...failure,
      hasOtherEncoding: other !== undefined,
      hasMaxMode: this.#model.maxModeContextTokens !== undefined,
      tried: this.#tried,
      resumes: this.#resumes,
      ageMs: performance.now() - this.#openedAt,
    });
    if (type === undefined) return undefined;
    this.#tried.add(type);
    if (type === "resume") this.#resumes++;
    if (type === "other-encoding" && other) this.#encoding = other;
    if (type === "max-mode") this.#encoding = { ...this.#encoding, maxMode: true };
    return { type, pauseMs: pauseMs(type, this.#resumes) };
  }
}
