import type { Limits } from "../config/settings.ts";
import type { FaceContext } from "../faces/shared/face-module.ts";
import { createKeyValueStore } from "../state/key-value-store.ts";
import { createResponseStore } from "../state/response-store.ts";
import type { StateDatabase } from "../state/state-database.ts";
import { createThoughtStore } from "../state/thought-store.ts";
import type { Config } from "./load-config.ts";

export interface FaceContextOptions extends Pick<FaceContext, "engine" | "images" | "log"> {
  readonly state: StateDatabase;
  readonly limits: Limits;
  readonly thinking?: Config["thinking"];
}

export function createFaceContext({ state, limits, thinking, ...rest }: FaceContextOptions): FaceContext {
  return {
    ...rest,
    limits: { maxImages: limits.images, maxMessages: limits.messages, maxTools: limits.tools },
    settings: { thinking: thinking === "auto" ? undefined : thinking },
    stores: {
      thoughts: createThoughtStore(state),
      responses: createResponseStore(state),
      keyValues: (space) => createKeyValueStore(state, space),
    },
    startedAt: new Date(),
  };
}
