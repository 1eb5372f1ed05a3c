import { randomBytes } from "node:crypto";
import { Secret } from "../core/secret.ts";
import { createOpenAiChatFace } from "../faces/openai-chat/index.ts";
import { modelEntry, modelList } from "../faces/openai-chat/models.ts";
import { createResponseArchive } from "../faces/openai-responses/archive.ts";
import { createOpenAiResponsesFace } from "../faces/openai-responses/index.ts";
import { createReasoningSeal } from "../faces/openai-responses/reasoning-seal.ts";
import type { RequestLimits } from "../faces/request-limits.ts";
import type { Dialect, Dialects } from "../server/dialect.ts";
import { responseRoutes } from "../server/response-routes.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import { createResponseStore } from "../state/response-store.ts";
import type { StateDatabase } from "../state/state-database.ts";

/** Every dialect that the gateway speaks. */
export function createDialects(state: StateDatabase, limits: RequestLimits): Dialects {
  const startedAt = Math.floor(Date.now() / 1000);
  return [
    {
      face: createOpenAiChatFace({ limits }),
      path: "/v1/chat/completions",
      models: {
        list: (models) => modelList(models, startedAt),
        one: (model) => modelEntry(model, startedAt),
      },
    },
    createResponsesDialect(state, limits),
  ];
}

function createResponsesDialect(state: StateDatabase, limits: RequestLimits): Dialect {
  const path = "/v1/responses";
  const store = createResponseStore(state);
  const face = createOpenAiResponsesFace({ limits, store, seal: createReasoningSeal(sealSecret(state)) });
  return { face, path, routes: responseRoutes(path, face, createResponseArchive(store)) };
}

/** Made once, so that what was sealed can be opened after a restart. */
function sealSecret(state: StateDatabase): Secret {
  const kept = createKeyValueStore(state, "reasoning-seal");
  const secret = kept.get("secret") ?? randomBytes(32).toString("base64url");
  kept.set("secret", secret);
  return new Secret(secret);
}
