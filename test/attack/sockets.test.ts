import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";

const CREATE = JSON.stringify({ type: "response.create", model: "gpt-5.5", input: "@sim say hello" });

async function setUp() {
  const gateway = await (await setUpGateway()).start();
  const open = async () => {
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/responses`, {
      headers: { authorization: `Bearer ${KEY}` },
    });
    onTestFinished(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return socket.on("error", () => {});
  };
  return { gateway, open };
}

const closed = (socket: WebSocket): Promise<number> => new Promise((resolve) => socket.once("close", resolve));

/** Resolves with the type of each message up to one of these. */
const until = (socket: WebSocket, ...types: readonly string[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const seen: string[] = [];
    socket.once("close", () => reject(new Error(`It closed after ${seen.join(", ")}.`)));
    socket.on("message", (data) => {
      seen.push((JSON.parse(String(data)) as { readonly type: string }).type);
      if (types.includes(seen.at(-1) ?? "")) resolve(seen);
    });
  });

it("random bytes as frames close only their own connection (SEC-36)", async () => {
  const { gateway, open } = await setUp();
  const honest = await open();
  for (let round = 0; round < 50; round++) {
    const socket = await open();
    const end = closed(socket);
    // Below the library, so that frames are malformed. A reserved bit makes the first one invalid.
    const bytes = randomBytes(1 + (round % 64));
    bytes[0] = 0xf1;
    (socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(
      Buffer.concat([bytes, Buffer.alloc(16)]),
    );
    expect(await end).toBe(1002);
  }
  const answer = until(honest, "response.completed");
  honest.send(CREATE);
  expect(await answer).toContain("response.output_text.delta");
  expect(gateway.log()).not.toContain("internal");
});

it("a flood of unknown and malformed messages is answered with errors, and the connection stays usable (SEC-36)", async () => {
  const { gateway, open } = await setUp();
  const socket = await open();
  const messages = ["{", "[]", "null", '"x"', '{"type":"response.cancel"}', '{"type":5}', "[".repeat(5000)];
  const errors = new Promise<number>((resolve) => {
    let count = 0;
    socket.on("message", (data) => {
      if ((JSON.parse(String(data)) as { type: string }).type === "error" && ++count === 700) resolve(count);
    });
  });
  for (let round = 0; round < 100; round++) for (const message of messages) socket.send(message);
  expect(await errors).toBe(700);
  const answer = until(socket, "response.completed");
  socket.send(CREATE);
  expect(await answer).toContain("response.output_text.delta");
  expect(gateway.log()).not.toContain("internal");
});

it("binary and oversized messages close the connection with their codes (SEC-36)", async () => {
  const { open } = await setUp();
  const binary = await open();
  const large = await open();
  const ends = [closed(binary), closed(large)];
  binary.send(Buffer.from(CREATE), { binary: true });
  large.send("x".repeat(40 * 1024 * 1024));
  expect(await Promise.all(ends)).toEqual([1003, 1009]);
});
