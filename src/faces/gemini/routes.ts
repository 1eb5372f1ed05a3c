import type { FaceContext, FaceRoute } from "../shared/face-module.ts";
import { modelRoutes } from "../shared/model-routes.ts";
import { CallMemory } from "../shared/tools/call-memory.ts";
import { countTokens, createGeminiFace } from "./face.ts";
import { modelObject, modelPage } from "./models.ts";

/** Google's client asks `/v1` since 3.0, and `/v1beta` before. */
const PATHS = ["/v1beta/models", "/v1/models"] as const;

/** Returns the routes for contents, token counts and models. */
export function routes({ engine, limits }: FaceContext): readonly FaceRoute[] {
  const options = { limits, memory: new CallMemory() };
  return PATHS.flatMap((path): readonly FaceRoute[] => [
    { type: "turn", path: `${path}/{model}:generateContent`, face: createGeminiFace(options, false) },
    { type: "turn", path: `${path}/{model}:streamGenerateContent`, face: createGeminiFace(options, true) },
    {
      type: "call",
      method: "POST",
      path: `${path}/{model}:countTokens`,
      handle: async (request) => ({ body: await countTokens(request.body, request, options) }),
    },
    ...modelRoutes(path, engine, { list: modelPage, one: modelObject }),
  ]);
}
