import { expect, it, onTestFinished } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { SIGNED_IN, setUpSim } from "./support/stage.ts";

const pathsOf = (trace: readonly TraceEntry[]) => JSON.stringify(trace);

it("sends the REST calls of the official client to the host that has the REST interface, and all others to the backend", async () => {
  const restTrace: TraceEntry[] = [];
  const rest = await startSim({ trace: (entry) => restTrace.push(entry) });
  onTestFinished(() => rest.close());
  const { url, trace } = await setUpSim({ serveRun: (peer) => peer.end(), restOrigin: rest.url });
  const headers = { authorization: `Bearer ${SIGNED_IN}` };

  const list = (await (await fetch(`${url}/v1/models`, { headers })).json()) as { items: { id: string }[] };
  expect(list.items.map(({ id }) => id)).toEqual(expect.arrayContaining(["default", "excursor/local"]));
  expect((await fetch(`${url}/v1/me?x=1`, { headers })).status).toBe(200);
  expect(pathsOf(trace)).not.toContain("/v1/");
  expect(pathsOf(restTrace)).toContain("/v1/models");
  expect(pathsOf(restTrace)).toContain("/v1/me");

  const before = restTrace.length;
  const exchanged = await fetch(`${url}/auth/exchange_user_api_key`, { method: "POST", headers, body: "{}" });
  expect(exchanged.status).toBe(200);
  expect(pathsOf(trace)).toContain("/auth/exchange_user_api_key");
  expect(restTrace).toHaveLength(before);
});
