import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { type RawData, WebSocket } from "ws";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { mutated, mutation } from "./support/mutate.ts";
import { fuzzBudget } from "./support/seed.ts";
import { VALID_MESSAGES } from "./support/valid-requests.ts";

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
    const fail = () => reject(new Error(`It closed after ${seen.join(", ")}.`));
    const read = (data: RawData) => {
      seen.push((JSON.parse(String(data)) as { readonly type: string }).type);
      if (!types.includes(seen.at(-1) ?? "")) return;
      socket.off("close", fail).off("message", read);
      resolve(seen);
    };
    socket.once("close", fail).on("message", read);
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

it("no message fails the gateway, whatever is wrong with it: each has an answer or an error (FUZ-05)", async () => {
  const { gateway, open } = await setUp();
  const socket = await open();
  const outcomes = new Set<string>();
  const ask = async (text: string) => {
    const end = until(socket, "error", "response.completed", "response.incomplete", "response.failed");
    socket.send(text);
    return (await end).at(-1) ?? "";
  };
  for (const message of VALID_MESSAGES) expect(await ask(mutated(message, []))).toBe("response.completed");
  const hostile = fc.tuple(fc.constantFrom(...VALID_MESSAGES), fc.array(mutation, { minLength: 1, maxLength: 3 }));
  await fc.assert(
    fc.asyncProperty(hostile, async ([message, mutations]) => {
      outcomes.add(await ask(mutated(message, mutations)));
    }),
    fuzzBudget(1000, 30_000),
  );
  for (const reached of ["error", "response.completed"]) expect(outcomes).toContain(reached);
  expect(await ask(CREATE)).toBe("response.completed");
  expect(gateway.log()).not.toMatch(/internal_error|configuration_error|io_error/);
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
