import type { UserMessage } from "../../core/turn.ts";
import type { Face } from "../shared/face.ts";
import { BridgeCollector } from "./collect.ts";
import type { Composers } from "./composers.ts";
import { readContent, toTurn } from "./parse.ts";
import { LineRenderer } from "./render.ts";
import { readBody, sendMessageSchema } from "./schema.ts";

/** The face of the bridge's `sendMessage`: agents inside the Cursor IDE. */
export function createIdeBridgeFace(composers: Composers, maxImages: number): Face {
  return {
    async parse(body, { principal, images }) {
      const request = readBody(sendMessageSchema, body);
      const asked: UserMessage = { role: "user", content: await readContent(request, images, maxImages) };
      const composing = composers.begin(principal, request.composerId, asked);
      const turn = toTurn(request, principal, composing.messages);
      return {
        turn,
        isStream: request.stream,
        ignored: [],
        signal: composing.signal,
        end: () => composing.end(),
        stream: () => new LineRenderer(composing),
        collect: () => new BridgeCollector(composing, turn.model.id),
      };
    },
  };
}
