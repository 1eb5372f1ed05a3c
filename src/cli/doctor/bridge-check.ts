import type { Config } from "../../app/load-config.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import { callHttp } from "../../wire/http/http-call.ts";
import { jsonObject } from "../../wire/json.ts";
import { wireLimits } from "../../wire/limits.ts";
import { bridgeKey } from "../commands/bridge-key.ts";
import { type Check, type Finding, ok, skip, warn } from "./check.ts";

const TIMEOUT_MS = 5000;

/** Checks that the IDE's bridge listens where the settings say, and accepts its key. */
export const bridgeCheck = ({ bridge, bridgePort }: Config, transport: HttpTransport): Check => ({
  id: "bridge",
  async look(): Promise<Finding> {
    if (!bridge?.listens) return skip("Off. `excursor serve --bridge` starts it.");
    if (bridgePort === 0) return skip("The bridge picks a port at each start, so it cannot be checked.");
    const request = {
      origin: `http://127.0.0.1:${bridgePort}`,
      path: "/acp/health",
      method: "GET" as const,
      headers: { authorization: `Bearer ${bridgeKey(process.env).reveal()}`, "x-excursor-bridge": "1" },
    };
    try {
      const { head, body } = await callHttp({ transport, request, limits: wireLimits(), timeoutMs: TIMEOUT_MS });
      const name = head.status === 200 ? jsonObject<"name">(parsed(body))?.name : undefined;
      if (name === "excursor") return ok(`The bridge listens on port ${bridgePort} and accepts its key.`);
      return warn(
        `Another program answers on port ${bridgePort}, not the bridge of this home folder (HTTP status ${head.status}).`,
        "Stop that program, or set another bridgePort.",
      );
    } catch (error) {
      if (ExcursorError.from(error).kind !== "upstream-unavailable") throw error;
      return skip(`Nothing listens on port ${bridgePort}: the gateway is not running.`);
    }
  },
});

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
