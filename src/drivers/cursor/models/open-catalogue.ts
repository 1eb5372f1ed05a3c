import { callHeaders } from "../../../wire/agent/headers.ts";
import { type CursorSettings, clientHeaders } from "../../shared/cursor-settings.ts";
import type { DriverContext } from "../../shared/driver-module.ts";
import type { ModelCatalogue } from "./model.ts";
import { createModelCatalogue } from "./model-catalogue.ts";
import { createModelListSource } from "./model-lists.ts";

export function openCatalogue(context: DriverContext<CursorSettings>): ModelCatalogue {
  const { settings, origin, transports, encodings } = context;
  const client = clientHeaders(settings);
  return createModelCatalogue({
    source: createModelListSource({
      transport: transports.h1,
      origin,
      headers: ({ token }) => callHeaders("unary-proto", { token: token.reveal(), ...client }),
    }),
    memory: encodings,
  });
}
