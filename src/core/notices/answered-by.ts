import type { TurnEvent } from "../events.ts";

/** The code of a notice whose text names the model that answers in place of the requested one. It comes first. */
export const ANSWERED_BY = "answered_by";

export const answeredByNotice = (model: string): TurnEvent => ({ type: "notice", code: ANSWERED_BY, text: model });
