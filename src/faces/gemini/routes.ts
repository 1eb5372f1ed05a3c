import type { FaceContext, FaceRoute } from "../shared/face-module.ts";
import { modelRoutes } from "../shared/model-routes.ts";
import { CallMemory } from "../shared/tools/call-memory.ts";
import { countTokens, createGeminiFace } from "./face.ts";
import { modelObject, modelPage } from "./models.ts";

const PATH = "/v1beta/models";

/** Returns the routes for contents, token counts and models. */
export function routes({ engine, limits }: FaceContext): readonly FaceRoute[] {
  const options = { limits, memory: new CallMemory() };
  return [
    { type: "turn", path: `${PATH}/{model}:generateContent`, face: createGeminiFace(options, false) },
    { type: "turn", path: `${PATH}/{model}:streamGenerateContent`, face: createGeminiFace(options, true) },
    {
      type: "call",
      method: "POST",
      path: `${PATH}/{model}:countTokens`,
      handle: async (request) => ({ body: await countTokens(request.body, request, options) }),
    },
    ...modelRoutes(PATH, engine, { list: modelPage, one: modelObject }),
  ];
}
