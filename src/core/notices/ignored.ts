import type { TurnEvent } from "../events.ts";
import type { SamplingName } from "../sampling.ts";

/** Options of a turn that an upstream may not support. */
export type Ignorable = SamplingName | "effort";

/** The code of a notice whose text names an option that is ignored. Such notices come first. */
export const IGNORED = "ignored";

export const ignoredNotice = (name: Ignorable): TurnEvent => ({ type: "notice", code: IGNORED, text: name });
