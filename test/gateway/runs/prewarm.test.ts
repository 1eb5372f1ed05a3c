import { expect, it, vi } from "vitest";
import { setUpGateway } from "../support/gateway-process.ts";

it("a gateway that has started with an account loads its models before anybody asks", async () => {
  const { start, trace } = await setUpGateway();
  const gateway = await start();
  const paths = () =>
    trace.flatMap(({ kind, message }) => (kind === "request" ? [(message as { readonly path: string }).path] : []));
  await vi.waitFor(() => expect(paths()).toContain("/agent.v1.AgentService/GetUsableModels"), 10_000);
  expect(paths()).not.toContain("/agent.v1.AgentService/Run");
  expect(await gateway.stop()).toBe(0);
});

it("starts and stops without the backend all the same", async () => {
  const { start } = await setUpGateway();
  const gateway = await start("--upstream", "http://127.0.0.1:9");
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  expect([await gateway.stop(), gateway.log()]).toEqual([0, expect.not.stringContaining("warn")]);
});
