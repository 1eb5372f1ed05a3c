import { randomBytes } from "node:crypto";
import type { Limits } from "../config/settings.ts";
import { Secret } from "../core/secret.ts";
import { THINKING_STYLES, type ThinkingStyle, type Thoughts } from "../core/thinking/thoughts.ts";
import { createAnthropicMessagesFace } from "../faces/anthropic-messages/index.ts";
import { modelObject, modelPage } from "../faces/anthropic-messages/models.ts";
import { createOpenAiChatFace, type OpenAiChatOptions } from "../faces/openai-chat/index.ts";
import { modelEntry, modelList } from "../faces/openai-chat/models.ts";
import { createResponseArchive } from "../faces/openai-responses/archive.ts";
import { createOpenAiResponsesFace } from "../faces/openai-responses/index.ts";
import { createReasoningSeal } from "../faces/openai-responses/reasoning-seal.ts";
import type { ImageLoader } from "../faces/shared/face.ts";
import type { RequestLimits } from "../faces/shared/request-limits.ts";
import type { Dialect, Dialects } from "../server/dialect.ts";
import { helloRoute } from "../server/routes/hello-route.ts";
import { queryRoute } from "../server/routes/query-route.ts";
import { responseRoutes } from "../server/routes/response-routes.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import { createResponseStore } from "../state/response-store.ts";
import type { StateDatabase } from "../state/state-database.ts";
import { createThoughtStore } from "../state/thought-store.ts";

export interface DialectOptions {
  readonly state: StateDatabase;
  readonly images: ImageLoader;
  readonly limits: Limits;
  /** How Chat Completions writes thinking; unset: as each client seems to know it. */
  readonly thinking?: ThinkingStyle | undefined;
}

/** Every dialect that the gateway speaks. */
export function createDialects(options: DialectOptions): Dialects {
  const startedAt = new Date();
  const thoughts = createThoughtStore(options.state);
  const { thinking } = options;
  return [
    openAiChat(startedAt, options, { thoughts, thinking }),
    openAiResponses(options, thoughts),
    anthropicMessages(startedAt, options),
    // By its base URL a client says itself how it wants to have thinking: `/tags/v1`.
    ...THINKING_STYLES.map((style) => openAiChat(startedAt, options, { thoughts, thinking: style }, `/${style}`)),
  ];
}

function openAiChat(
  startedAt: Date,
  { limits }: DialectOptions,
  thinking: Pick<OpenAiChatOptions, "thinking" | "thoughts">,
  prefix = "",
): Dialect {
  const created = Math.floor(startedAt.getTime() / 1000);
  return {
    face: createOpenAiChatFace({ limits: requestLimits(limits), ...thinking }),
    path: `${prefix}/v1/chat/completions`,
    prefix,
    models: { list: (models) => modelList(models, created), one: (model) => modelEntry(model, created) },
  };
}

function openAiResponses({ state, images, limits }: DialectOptions, thoughts: Thoughts): Dialect {
  const path = "/v1/responses";
  const store = createResponseStore(state);
  const face = createOpenAiResponsesFace({
    limits: requestLimits(limits),
    store,
    thoughts,
    seal: createReasoningSeal(sealSecret(state)),
  });
  const answer = face.countTokens;
  const count = queryRoute({ path: `${path}/input_tokens`, face, images, limits, answer });
  return { face, path, routes: [count, ...responseRoutes(path, face, createResponseArchive(store))] };
}

/** Made once, so that what was sealed can be opened after a restart. */
function sealSecret(state: StateDatabase): Secret {
  const kept = createKeyValueStore(state, "reasoning-seal");
  const secret = kept.get("secret") ?? randomBytes(32).toString("base64url");
  kept.set("secret", secret);
  return new Secret(secret);
}

function anthropicMessages(startedAt: Date, { images, limits }: DialectOptions): Dialect {
  const createdAt = startedAt.toISOString();
  const face = createAnthropicMessagesFace({ limits: requestLimits(limits) });
  const path = "/v1/messages";
  const answer = face.countTokens;
  return {
    face,
    path,
    models: { list: (models) => modelPage(models, createdAt), one: (model) => modelObject(model, createdAt) },
    isSpokenBy: (headers) => headers["anthropic-version"] !== undefined,
    routes: [
      queryRoute({ path: `${path}/count_tokens`, face, images, limits, answer }),
      helloRoute("/", face),
      helloRoute("/api/hello", face),
    ],
  };
}

const requestLimits = ({ images, messages, tools }: Limits): RequestLimits => ({
  maxImages: images,
  maxMessages: messages,
  maxTools: tools,
});
