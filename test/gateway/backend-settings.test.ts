import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { TraceEntry } from "../../src/sim/options.ts";
import { startSim } from "../../src/sim/server.ts";
import { setUpGateway } from "./support/gateway-process.ts";

const messages = [{ role: "user" as const, content: "@sim say hello" }];

it("runs go where agentUpstream says, everything else to the upstream", async () => {
  const runs: TraceEntry[] = [];
  const agents = await startSim({ trace: (entry) => runs.push(entry) });
  onTestFinished(() => agents.close());
  const { open, trace } = await setUpGateway({}, { EXCURSOR_AGENT_UPSTREAM: agents.url });
  const { client } = await open();
  const answer = await client.chat.completions.create({ model: "auto", messages });
  expect(answer.choices[0]?.message.content).toBe("hello");
  const paths = (entries: readonly TraceEntry[]) =>
    entries.flatMap(({ kind, message }) => (kind === "request" ? [(message as { readonly path: string }).path] : []));
  expect(paths(runs)).toEqual(["/agent.v1.AgentService/Run"]);
  expect(paths(trace)).toContain("/aiserver.v1.ServerConfigService/GetServerConfig");
  expect(paths(trace)).not.toContain("/agent.v1.AgentService/Run");
});

it.each([
  ["goes with every call", "Vfb45Bi9abc/def"],
  ["goes with none unless it is set", ""],
])("the checksum of the settings %s", async (_, checksum) => {
  const seen: IncomingHttpHeaders[] = [];
  const peer = createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(403).end();
  }).listen(0, "127.0.0.1");
  await once(peer, "listening");
  onTestFinished(() => void peer.close());
  const { open } = await setUpGateway({}, { EXCURSOR_CHECKSUM: checksum });
  const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`;
  const { client } = await open("--transport", "h1", "--upstream", url);
  await expect(client.chat.completions.create({ model: "auto", messages })).rejects.toThrow();
  expect(seen.length).toBeGreaterThan(1);
  expect(new Set(seen.map((headers) => headers["x-cursor-checksum"]))).toEqual(new Set([checksum || undefined]));
});
