import type { ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "../../src/server/listener.ts";
import { DEFAULT_LIMITS } from "../support/default-limits.ts";
import { RawConnection } from "./support/raw.ts";

/** A listener whose requests a test answers, and a connection with so many requests on it, sent at once. */
async function pipeline(count: number) {
  const asked: ServerResponse[] = [];
  const server = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: DEFAULT_LIMITS,
    onRequest: (_, response) => void asked.push(response),
    use: { busy: () => new Set(), isTrusted: () => true },
  });
  onTestFinished(() => server.close());
  const client = new RawConnection(server.port);
  client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(count));
  return { asked, client };
}

it("answers pipelined requests one after the other, up to 128 that wait", async () => {
  const { asked, client } = await pipeline(129);
  for (let answered = 0; answered < 129; answered++) {
    await expect.poll(() => asked.length, { interval: 1 }).toBe(answered + 1);
    asked.at(-1)?.end(`answer ${answered}.`);
  }
  expect(await client.until("answer 128.")).toContain("answer 127.");
  client.socket.destroy();
});

it("closes a connection on which one more waits, and answers none of them", async () => {
  const { asked, client } = await pipeline(130);
  expect(await client.closed()).toBe("");
  expect(asked).toHaveLength(1);
});
