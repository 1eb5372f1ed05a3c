import { ExcursorError } from "../../core/errors.ts";
import type { FaceContext, FaceRoute } from "../shared/face-module.ts";
import { createResponseArchive } from "./archive.ts";
import { createOpenAiResponsesFace } from "./face.ts";
import { createReasoningSeal } from "./reasoning-seal.ts";
import { RecentAnswers } from "./socket/recent-answers.ts";
import { createSocketDialect } from "./socket/socket-dialect.ts";

const PATH = "/v1/responses";

/** Returns the routes for responses, token counts and stored answers. */
export function routes({ limits, stores }: FaceContext): readonly FaceRoute[] {
  const { responses, thoughts } = stores;
  const seal = createReasoningSeal(stores.sealSecret);
  const options = { limits, store: responses, thoughts, seal };
  const face = createOpenAiResponsesFace(options);
  const recentAnswers = new RecentAnswers();
  const archive = createResponseArchive(responses);
  return [
    { type: "turn", path: PATH, face },
    { type: "socket", path: PATH, open: () => createSocketDialect(options, recentAnswers) },
    {
      type: "call",
      method: "POST",
      path: `${PATH}/input_tokens`,
      handle: async (request) => ({ body: await face.countTokens(request.body, request) }),
    },
    {
      type: "call",
      method: "GET",
      path: `${PATH}/{id}`,
      async handle({ path: { id = "" }, query, principal }) {
        if (query.get("stream") === "true") throw noStream();
        const include = [...query.getAll("include"), ...query.getAll("include[]")];
        return { body: await archive.get(principal.id, id, include.includes("reasoning.encrypted_content")) };
      },
    },
    {
      type: "call",
      method: "GET",
      path: `${PATH}/{id}/input_items`,
      async handle({ path: { id = "" }, query, principal }) {
        const order = query.get("order") === "asc" ? "asc" : "desc";
        return { body: await archive.inputItems(principal.id, id, order) };
      },
    },
    {
      type: "call",
      method: "DELETE",
      path: `${PATH}/{id}`,
      handle: async ({ path: { id = "" }, principal }) => ({ body: await archive.delete(principal.id, id) }),
    },
  ];
}

const noStream = (): ExcursorError => new ExcursorError("unsupported_parameter", [], { field: "stream" });
