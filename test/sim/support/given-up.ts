import type { TraceEntry } from "../../../src/sim/options.ts";

/** The backend hears that an answer is wanted no more: by a cancelled turn, or by a stream that is cut. */
export const isGivenUp = ({ kind }: TraceEntry): boolean => kind === "reset" || kind === "conversation_action";
