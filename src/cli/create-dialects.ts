import { createOpenAiChatFace } from "../faces/openai-chat/index.ts";
import { modelEntry, modelList } from "../faces/openai-chat/models.ts";
import type { Dialects } from "../server/dialect.ts";

/** Every dialect that the gateway speaks. */
export function createDialects(): Dialects {
  const startedAt = Math.floor(Date.now() / 1000);
  return [
    {
      face: createOpenAiChatFace(),
      path: "/v1/chat/completions",
      models: {
        list: (models) => modelList(models, startedAt),
        one: (model) => modelEntry(model, startedAt),
      },
    },
  ];
}
