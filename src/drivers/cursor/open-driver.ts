import type { ValuesOf } from "../../config/setting.ts";
import type { Driver } from "../../core/driver.ts";
import { clientHeaders } from "../shared/cursor-settings.ts";
import type { DriverContext } from "../shared/driver-module.ts";
import { createCursorDriver } from "./driver.ts";
import { openCursorModels } from "./models/open-cursor-models.ts";
import type { SETTINGS } from "./settings.ts";

export function openCursorDriver(context: DriverContext<ValuesOf<typeof SETTINGS>>): Driver {
  const { settings, origin, transports, checkpoints, access, log } = context;
  return createCursorDriver({
    origin,
    transports,
    models: openCursorModels(context),
    transport: settings.transport,
    agentOrigin: settings.agentUpstream && new URL(settings.agentUpstream).origin,
    checkpoints,
    access,
    client: clientHeaders(settings),
    context: settings.context,
    onUnknown: (what, count) => log.warn({ what, count }, "the backend sent an unknown message"),
    onLateError: (requestId, { code, message }) =>
      log.warn({ requestId, code, reason: message }, "the backend reported an error after the end of its answer"),
    onToolLeftOut: onceEach((tool) =>
      log.warn({ tool }, "The schema of this tool is nested too deep for the backend. The tool is not offered."),
    ),
  });
}

/** Calls back once for each text, for a limited number of texts. */
function onceEach(callback: (text: string) => void): (text: string) => void {
  const seen = new Set<string>();
  return (text) => {
    if (seen.has(text)) return;
    if (seen.size < MAX_SEEN) seen.add(text);
    callback(text);
  };
}

const MAX_SEEN = 1000;
