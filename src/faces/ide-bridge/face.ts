import type { Turn, UserMessage } from "../../core/turn.ts";
import type { Face } from "../shared/face.ts";
import { BridgeCollector } from "./collect.ts";
import type { Composers } from "./composers.ts";
import { readContent } from "./read-content.ts";
import { LineRenderer } from "./render.ts";
import { readBody, sendMessageSchema } from "./schema.ts";

/** The bridge's `sendMessage`: agents inside the Cursor IDE. */
export function createIdeBridgeFace(composers: Composers, maxImages: number): Face {
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
        collect: () => new BridgeCollector(composing, id),
      };
    },
  };
}
