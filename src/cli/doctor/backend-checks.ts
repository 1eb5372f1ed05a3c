import type { HttpTransport, ResponseHead } from "../../wire/http/http.ts";
import { callHttp } from "../../wire/http/http-call.ts";
import type { FindProxy } from "../../wire/http/proxy.ts";
import { wireLimits } from "../../wire/limits.ts";
import { type Check, ok, skip, warn } from "./check.ts";

const TIMEOUT_MS = 15_000;
const MAX_SKEW_MS = 30_000;

/** Checks the connection to the backend, and the difference between its clock and ours. */
export function backendChecks(transport: HttpTransport, origin: string, findProxy: FindProxy): readonly Check[] {
  let head: ResponseHead | undefined;
  return [
    {
      id: "network",
      async look() {
        const startedAt = performance.now();
        const request = { origin, path: "/", method: "GET" as const, headers: {} };
        ({ head } = await callHttp({ transport, request, limits: wireLimits({}), timeoutMs: TIMEOUT_MS }));
        const proxy = findProxy(new URL(origin));
        const way = proxy ? `, through the proxy ${new URL(proxy.origin).host}` : "";
        return ok(`${origin} answered in ${Math.round(performance.now() - startedAt)} ms${way}.`);
      },
    },
    {
      id: "clock",
      look() {
        const told = Date.parse(head?.headers["date"] ?? "");
        if (Number.isNaN(told)) return skip("The backend did not send its time.");
        const offMs = Date.now() - told;
        if (Math.abs(offMs) <= MAX_SKEW_MS) return ok("The clock is right.");
        const amount =
          Math.abs(offMs) < 120_000
            ? `${Math.round(Math.abs(offMs) / 1000)} s`
            : `${Math.round(Math.abs(offMs) / 60_000)} min`;
        const text = `The clock of this machine is ${amount} ${offMs > 0 ? "ahead of" : "behind"} the backend's.`;
        return warn(text, "Set the clock. With a wrong clock, tokens are renewed too early or too late.");
      },
    },
  ];
}
