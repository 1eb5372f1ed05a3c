import type { TurnEvent } from "../events.ts";
import type { SamplingName } from "../sampling.ts";

/** What a turn may ask for and an upstream may not be able to give. */
export type Ignorable = SamplingName | "effort";

/** The code of a notice whose text names something that was asked for and is ignored. Such notices come first. */
export const IGNORED = "ignored";

export const ignoredNotice = (name: Ignorable): TurnEvent => ({ type: "notice", code: IGNORED, text: name });
