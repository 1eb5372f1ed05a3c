import { ExcursorError } from "../../../core/errors.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { SocketDialect } from "../../shared/face-module.ts";
import type { Body } from "../../shared/unsupported-fields.ts";
import { createOpenAiResponsesFace, type OpenAiResponsesOptions } from "../face.ts";
import { RecentAnswer } from "./recent-answer.ts";
import type { RecentAnswers } from "./recent-answers.ts";

/**
 * Returns the dialect of one WebSocket. A message `response.create` has the fields of a request over HTTP. With
 * `generate: false` it asks nothing, and the next request goes on from its empty answer.
 */
export function createSocketDialect(options: OpenAiResponsesOptions, all: RecentAnswers): SocketDialect {
  const recent = new RecentAnswer(options.store, all);
  const face = createOpenAiResponsesFace({
    ...options,
    store: recent,
    takesPrewarms: true,
    onAnswer: (principalId, answer) => recent.keep(principalId, answer),
  });
  return {
    face: {
      async parse(message, context) {
        const body = readMessage(message);
        recent.begin(body["previous_response_id"] !== undefined);
        return { ...(await face.parse(body, context)), isStream: true };
      },
    },
    error: ({ status, headers, body }, requestId) =>
      JSON.stringify({ type: "error", status, ...body, headers, request_id: requestId }),
    close: () => recent.forget(),
  };
}

const CREATE = "response.create";

function readMessage(message: unknown): Body {
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    throw new ExcursorError("invalid_message");
  }
  const body = message as Body;
  const { type, generate, stream_id: streamId } = body;
  if (type !== CREATE) {
    const given = typeof type === "string" ? JSON.stringify(type.slice(0, 64)) : "none";
    throw new ExcursorError("unknown_message_type", [CREATE, given], { field: "type" });
  }
  if (generate !== undefined && typeof generate !== "boolean") throw invalid("generate", "expected a boolean");
  if (streamId !== undefined) throw invalid("stream_id", "not supported: open another connection");
  return body;
}
