import type { CallRoute, FaceContext, FaceRoute } from "../shared/face-module.ts";
import { modelRoutes } from "../shared/model-routes.ts";
import { createAnthropicMessagesFace } from "./face.ts";
import { modelObject, modelPage } from "./models.ts";

const PATH = "/v1/messages";

/** Returns the routes for messages, token counts, models and the paths that clients probe. */
export function routes({ engine, limits, startedAt }: FaceContext): readonly FaceRoute[] {
  const face = createAnthropicMessagesFace({ limits });
  const createdAt = startedAt.toISOString();
  return [
    { type: "turn", path: PATH, face },
    {
      type: "call",
      method: "POST",
      path: `${PATH}/count_tokens`,
      handle: async (request) => ({ body: await face.countTokens(request.body, request) }),
    },
    ...modelRoutes("/v1/models", engine, {
      list: (models, query) => modelPage(models, createdAt, query),
      one: (model) => modelObject(model, createdAt),
    }),
    hello("/"),
    hello("/api/hello"),
  ];
}

/** Claude Code requests these without a key before its first message. */
const hello = (path: string): CallRoute => ({
  type: "call",
  method: "GET",
  path,
  isOpen: true,
  handle: () => ({ body: { status: "ok" } }),
});
