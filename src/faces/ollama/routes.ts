import { checkForm } from "../shared/errors/check-form.ts";
import { invalid } from "../shared/errors/invalid.ts";
import { invalidRequest } from "../shared/errors/schema-issue.ts";
import type { CallRoute, FaceContext, FaceRoute } from "../shared/face-module.ts";
import { findModel } from "../shared/model-routes.ts";
import { CallMemory } from "../shared/tools/call-memory.ts";
import { createChatFace, createGenerateFace, type OllamaOptions } from "./face.ts";
import { API_VERSION, modelDetails, modelList } from "./models.ts";
import { showRequest } from "./schema.ts";

const LOOK_UP_MS = 30_000;

/** Returns the routes for chat, text, models and the paths that clients probe. */
export function routes({ engine, limits, stores, startedAt }: FaceContext): readonly FaceRoute[] {
  const options: OllamaOptions = {
    limits,
    thoughts: stores.thoughts,
    memory: new CallMemory(),
    async checkModel(name, { principal }) {
      await findModel(engine, name, { principal, signal: AbortSignal.timeout(LOOK_UP_MS) });
    },
  };
  const modifiedAt = startedAt.toISOString();
  return [
    { type: "turn", path: "/api/chat", face: createChatFace(options) },
    { type: "turn", path: "/api/generate", face: createGenerateFace(options) },
    {
      type: "call",
      method: "GET",
      path: "/api/tags",
      handle: async ({ principal, signal }) => ({
        body: modelList(await engine.listModels(principal, signal), modifiedAt),
      }),
    },
    {
      type: "call",
      method: "POST",
      path: "/api/show",
      handle: async (request) => ({
        body: modelDetails(await findModel(engine, shownModel(request.body), request), modifiedAt),
      }),
    },
    // No model is in this machine's memory.
    constant("/api/ps", { models: [] }),
    constant("/api/version", { version: API_VERSION }),
    { ...constant("/", { status: "Ollama is running" }), isOpen: true },
  ];
}

const constant = (path: string, body: Readonly<Record<string, string | readonly never[]>>): CallRoute => ({
  type: "call",
  method: "GET",
  path,
  handle: () => ({ body }),
});

function shownModel(body: unknown): string {
  const { data, error } = checkForm(showRequest, body);
  if (error) throw invalidRequest(error, body);
  const name = data.model || data.name;
  if (!name) throw invalid("model", "expected a name");
  return name.replace(/:latest$/, "");
}
