import { connect } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { serveHubOverHttp } from "../../../src/cli/actions/mcp/serve-over-http.ts";
import type { Limits } from "../../../src/config/limits.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createHub } from "../../../src/mcp/hub.ts";
import { BodyBudget } from "../../../src/server/gate/body-budget.ts";
import { KnownKeys } from "../../../src/server/gate/keys/known-keys.ts";
import { RawConnection } from "../../server/support/raw.ts";
import { DEFAULT_LIMITS } from "../../support/default-limits.ts";

const KEY = "exc_a-key-for-tests-only-0123456789";
const MIB = 1024 * 1024;

async function serve(limits: Limits) {
  const served = await serveHubOverHttp(createHub({ servers: [], environment: {} }), {
    host: "127.0.0.1",
    port: 0,
    key: new Secret(KEY),
    keys: new KnownKeys("/nonexistent/keys.json", () => {}),
    hosts: [],
    origins: [],
    limits,
  });
  onTestFinished(() => served.close());
  return served;
}

it("gives bodies the limits of the gateway (SEC-36)", async () => {
  const { url } = await serve({ ...DEFAULT_LIMITS, bodyBytes: 40_000, bodiesBytes: 50_000, bodyIdleMs: 1000 });
  const { host, port } = new URL(url);
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n`;
  const send = (text: string) => new RawConnection(Number(port)).send(head + text);
  // Each of them begins a body, and never ends it.
  const both = [0, 1].map(() => send(`transfer-encoding: chunked\r\n\r\n7530\r\n${" ".repeat(30_000)}\r\n`));
  const texts = await Promise.all(both.map((one) => one.closed()));
  expect(texts.map((text) => text.slice(0, 12)).sort()).toEqual(["HTTP/1.1 408", "HTTP/1.1 503"]);
  expect(await send("content-length: 40001\r\n\r\n").until("body_too_large")).toMatch(/^HTTP\/1\.1 413/);
  expect(await send("content-length: 3\r\n\r\n{a}").until("-32700")).toMatch(/^HTTP\/1\.1 400/);
  expect(await send("expect: 100-continue\r\ncontent-length: 10\r\n\r\n").until("\r\n")).toMatch(/^HTTP\/1\.1 100/);
});

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
  const served = await serve(DEFAULT_LIMITS);
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
