import { connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { serveHubOverHttp } from "../../../src/cli/actions/mcp/serve-over-http.ts";
import { DEFAULT_LIMITS } from "../../../src/config/settings.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createHub } from "../../../src/mcp/hub.ts";
import { BodyBudget } from "../../../src/server/gate/body-budget.ts";
import { KnownKeys } from "../../../src/server/gate/keys/known-keys.ts";

const KEY = "exc_a-key-for-tests-only-0123456789";
const MIB = 1024 * 1024;

it("holds no more unfinished bodies than its budget has room for (SEC-36)", async () => {
  let budget: BodyBudget | undefined;
  let most = 0;
  const { add } = BodyBudget.prototype;
  const spy = vi.spyOn(BodyBudget.prototype, "add").mockImplementation(function (this: BodyBudget, sender, bytes) {
    add.call(this, sender, bytes);
    budget = this;
    most = Math.max(most, this.bytes);
  });
  onTestFinished(() => spy.mockRestore());
  const hub = createHub({ servers: [], environment: {} });
  const served = await serveHubOverHttp(hub, {
    host: "127.0.0.1",
    port: 0,
    key: new Secret(KEY),
    keys: new KnownKeys("/nonexistent/keys.json", () => {}),
    hosts: [],
    origins: [],
    limits: DEFAULT_LIMITS,
  });
  onTestFinished(() => served.close());
  const { host, port } = new URL(served.url);
  const head = `POST /mcp HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
  const piece = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(MIB, " "), Buffer.from("\r\n")]);

  let refusals = 0;
  /** Sends 24 MiB of a body that never ends, or as much as is taken. */
  const send = async (): Promise<void> => {
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    onTestFinished(() => void socket.destroy());
    let isRefused = false;
    const refused = new Promise<void>((resolve) => {
      const refuse = () => {
        if (!isRefused) refusals++;
        isRefused = true;
        resolve();
      };
      socket.on("error", refuse).on("data", refuse).on("close", refuse);
    });
    const drained = () => new Promise((resolve) => socket.once("drain", resolve));
    socket.write(head);
    for (let sent = 0; sent < 24 && !isRefused; sent++) {
      if (!socket.write(piece)) await Promise.race([drained(), refused]);
    }
  };
  await Promise.all(Array.from({ length: 16 }, send));
  const room = Math.floor(DEFAULT_LIMITS.bodiesBytes / 2 / (24 * MIB));
  await vi.waitFor(() => expect(refusals).toBeGreaterThanOrEqual(16 - room));
  // One key has half of the budget.
  expect(most).toBeLessThanOrEqual(DEFAULT_LIMITS.bodiesBytes / 2);
  expect(most).toBeGreaterThan(24 * MIB);
  await served.close();
  await vi.waitFor(() => expect(budget?.bytes).toBe(0));
});
