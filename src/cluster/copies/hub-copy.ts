import type { AnswerEnd, AnswerPlace } from "../../core/hub/hub-answers.ts";

/** A change of an answer of the hub. */
export type HubChange = { readonly place: AnswerPlace } & (
  | { readonly type: "round"; readonly position: number; readonly round: string }
  | { readonly type: "end"; readonly end: AnswerEnd; readonly history: string }
  /** The client has seen the end. */
  | { readonly type: "settled" }
  /** No run uses the answer any more: another gateway may continue it. */
  | { readonly type: "left" }
);

/** A change as one gateway sends it to another. */
export type HubCopy = HubChange & {
  /** The tag of the gateway that has made the change. */
  readonly by: string;
  /** How old the change is, for a gateway that has joined later. */
  readonly ageMs?: number;
};

/** Estimates the memory of a change. */
export function sizeOf(copy: HubCopy): number {
  const { principalId, id, askedKey } = copy.place;
  const text = copy.type === "round" ? copy.round : copy.type === "end" ? copy.end.text : "";
  return principalId.length + id.length + askedKey.length + text.length;
}
