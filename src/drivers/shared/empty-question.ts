import { ExcursorError } from "../../core/errors.ts";

/** These upstreams refuse a conversation that asks nothing, in words that help nobody. */
export const emptyQuestion = (): ExcursorError =>
  new ExcursorError("invalid-request", "The last message is empty: there is nothing to answer.", {
    code: "empty_question",
  });
