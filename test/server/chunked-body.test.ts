import { expect, it } from "vitest";
import type { ControlledAnswer } from "./support/controlled-engine.ts";
import { chatBody, KEY, startTestGateway } from "./support/gateway.ts";
import { RawConnection } from "./support/raw.ts";

const WORDS = ["plain", "é", "€", "\u{1f600}", "ÿ".repeat(5000), '"\\\r\n'];

function ask(version: "1.0" | "1.1"): string {
  const body = chatBody({ stream: true });
  const head = [
    `POST /v1/chat/completions HTTP/${version}`,
    "host: localhost",
    `authorization: Bearer ${KEY}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Takes one chunked response off the front; throws where a length is not that of what follows. */
function takeResponse(wire: Buffer): { readonly body: string; readonly rest: Buffer } {
  let at = wire.indexOf("\r\n\r\n") + 4;
  const body: Buffer[] = [];
  for (;;) {
    const lineEnd = wire.indexOf("\r\n", at);
    const length = Number.parseInt(wire.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + length;
    if (wire.toString("latin1", end, end + 2) !== "\r\n") throw new Error(`A chunk of ${length} is not that long.`);
    if (length === 0) return { body: Buffer.concat(body).toString(), rest: wire.subarray(end + 2) };
    body.push(wire.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}

const textOf = (body: string): string =>
  body
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)).choices[0]?.delta.content ?? "")
    .join("");

/** Each in a chunk of its own, and the end. */
async function sayWords(answer: ControlledAnswer, connection: RawConnection): Promise<void> {
  for (const [index, word] of WORDS.entries()) {
    answer.say(word);
    await connection.until("data: {", index + 2);
  }
  answer.finish();
}

it("every chunk is as long as it says, in bytes", async () => {
  const gateway = await startTestGateway();
  const connection = new RawConnection(gateway.port).send(ask("1.1"));
  const answer = await gateway.engine.next();
  await sayWords(answer, connection);
  await connection.until("\r\n0\r\n\r\n");
  const { body, rest } = takeResponse(Buffer.from(connection.received));
  expect([textOf(body), rest.length]).toEqual([WORDS.join(""), 0]);
  expect(body.endsWith("data: [DONE]\n\n")).toBe(true);
  connection.socket.destroy();
});

it("a client of HTTP/1.0 gets no chunks", async () => {
  const gateway = await startTestGateway();
  const connection = new RawConnection(gateway.port).send(ask("1.0"));
  const answer = await gateway.engine.next();
  await sayWords(answer, connection);
  const [, body = ""] = (await connection.closed()).split(/\r\n\r\n(.*)/s);
  expect(body).toMatch(/^data: \{.*data: \[DONE\]\n\n$/s);
  expect(body).not.toContain("\r\n");
  expect(textOf(body)).toBe(WORDS.join(""));
});

it("answers to requests that were sent together come one after the other, each whole", async () => {
  const gateway = await startTestGateway();
  const connection = new RawConnection(gateway.port).send(ask("1.1") + ask("1.1"));
  const first = await gateway.engine.next();
  first.say("one ");
  await connection.until("one ");
  first.say("two");
  await connection.until("two");
  first.finish();
  const second = await gateway.engine.next();
  second.say("three ");
  second.say("four ");
  await connection.until("four ");
  second.say("five");
  await connection.until("five");
  second.finish();
  await connection.until("\r\n0\r\n\r\n", 2);
  const { body, rest } = takeResponse(Buffer.from(connection.received));
  expect([textOf(body), textOf(takeResponse(rest).body)]).toEqual(["one two", "three four five"]);
  connection.socket.destroy();
});
