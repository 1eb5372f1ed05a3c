import { callHeaders } from "../../../wire/agent/headers.ts";
import { type CursorSettings, clientHeaders } from "../../shared/cursor-settings.ts";
import type { DriverContext } from "../../shared/driver-module.ts";
import { createCursorModels } from "./cursor-models.ts";
import type { CursorModels } from "./model.ts";
import { createModelListSource } from "./model-lists.ts";

export function openCursorModels(context: DriverContext<CursorSettings>): CursorModels {
  const { settings, origin, transports, encodings } = context;
  const client = clientHeaders(settings);
  return createCursorModels({
    source: createModelListSource({
      transport: transports.h1,
      origin,
      headers: ({ token }) => callHeaders("unary-proto", { token: token.reveal(), ...client }),
    }),
    memory: encodings,
  });
}
