import { THINKING_STYLES } from "../../core/thinking/thoughts.ts";
import type { FaceContext, FaceRoute } from "../shared/face-module.ts";
import { modelRoutes } from "../shared/model-routes.ts";
import { createOpenAiChatFace } from "./face.ts";
import { modelEntry, modelList } from "./models.ts";

/**
 * Returns the routes for embeddings and the older completions, and for chat completions and models, at `/v1` and at `/STYLE/v1` for each thinking style. A client
 * chooses the style by its base URL (`/tags/v1`).
 */
export function routes({ engine, limits, stores, settings, startedAt }: FaceContext): readonly FaceRoute[] {
  const { thoughts } = stores;
  const created = Math.floor(startedAt.getTime() / 1000);
  const places = [
    { base: "/v1", thinking: settings.thinking },
    ...THINKING_STYLES.map((style) => ({ base: `/${style}/v1`, thinking: style })),
  ];
  const passed: readonly FaceRoute[] = [
    { type: "pass", path: "/v1/embeddings", api: "embeddings" },
    { type: "pass", path: "/v1/completions", api: "completions" },
  ];
  const chats = places.flatMap(({ base, thinking }): FaceRoute[] => [
    { type: "turn", path: `${base}/chat/completions`, face: createOpenAiChatFace({ limits, thoughts, thinking }) },
    ...modelRoutes(`${base}/models`, engine, {
      list: (models, query) => modelList(models, created, query),
      one: (model) => modelEntry(model, created),
    }),
  ]);
  return [...chats, ...passed];
}
