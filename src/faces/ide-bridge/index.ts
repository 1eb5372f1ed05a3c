import type { TurnEvent } from "../../core/events.ts";
import type { Turn, UserMessage } from "../../core/turn.ts";
import { CompletionCollector } from "../openai-chat/collect.ts";
import { errorMessage } from "../shared/error-message.ts";
import type { AnswerCollector, Face } from "../shared/face.ts";
import { retryHeaders } from "../shared/retry-headers.ts";
import type { Composers, ComposerTurn } from "./composers.ts";
import { readContent } from "./read-content.ts";
import { LineRenderer } from "./render.ts";
import { readBody, sendMessageSchema } from "./schema.ts";

/** The bridge's `sendMessage`: agents inside the Cursor IDE. */
export function createAcpFace(composers: Composers, maxImages: number): Face {
  return {
    async parse(body, { principal, images }) {
      const request = readBody(sendMessageSchema, body);
      const asked: UserMessage = { role: "user", content: await readContent(request, images, maxImages) };
      const id = request.modelId === undefined ? request.provider : `${request.provider}/${request.modelId}`;
      const composing = composers.begin(principal, request.composerId, asked);
      const turn: Turn = {
        principal,
        model: { id, effort: undefined },
        system: "",
        messages: composing.messages,
        tools: [],
        toolChoice: { type: "auto" },
        allowsParallelCalls: true,
        stop: [],
        maxOutputTokens: undefined,
        output: { type: "text" },
        // Who waits for the whole answer sees no question before it is too late.
        showsActivity: request.stream,
      };
      return {
        turn,
        isStream: request.stream,
        ignored: [],
        signal: composing.signal,
        end: () => composing.end(),
        stream: () => new LineRenderer(composing),
        collect: () => rememberingCollector(composing, id),
      };
    },
    error: (error, requestId) => ({
      status: error.outlets.status,
      headers: retryHeaders(error),
      body: { error: true, code: error.code, message: errorMessage(error, requestId) },
    }),
  };
}

function rememberingCollector(turn: ComposerTurn, model: string): AnswerCollector {
  const now = Date.now();
  const collector = new CompletionCollector({ id: `acp-${now}`, created: Math.floor(now / 1000), model });
  return {
    step(events: readonly TurnEvent[]) {
      for (const event of events) if (event.type === "text") turn.say(event.text);
      collector.step(events);
    },
    body: () => collector.body(),
  };
}
