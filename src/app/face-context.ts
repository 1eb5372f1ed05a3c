import type { Limits } from "../config/limits.ts";
import type { Secret } from "../core/secret.ts";
import type { FaceContext } from "../faces/shared/face-module.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import type { StateDatabase } from "../state/state-database.ts";
import { type ConversationStores, openOwnState } from "./cluster/shared-state.ts";
import type { Config } from "./load-config.ts";

export interface FaceContextOptions extends Pick<FaceContext, "engine" | "images" | "log"> {
  readonly state: StateDatabase;
  /** Default: those of the state. */
  readonly stores?: Pick<ConversationStores, "thoughts" | "responses">;
  /** Seals reasoning. */
  readonly sealSecret: Secret;
  readonly limits: Limits;
  readonly thinking?: Config["thinking"];
}

export function createFaceContext(options: FaceContextOptions): FaceContext {
  const { state, stores = openOwnState(state), sealSecret, limits, thinking, ...rest } = options;
  return {
    ...rest,
    limits: { maxImages: limits.images, maxMessages: limits.messages, maxTools: limits.tools },
    settings: { thinking: thinking === "auto" ? undefined : thinking },
    stores: {
      thoughts: stores.thoughts,
      responses: stores.responses,
      keyValues: (space) => createKeyValueStore(state, space),
      sealSecret,
    },
    startedAt: new Date(),
  };
}
