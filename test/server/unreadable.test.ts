import { expect, it } from "vitest";
import { DIALECTS } from "../gateway/support/dialects/index.ts";
import { KEY, startTestGateway } from "./support/gateway.ts";
import { RawConnection, rawRequest, readAnswer } from "./support/raw.ts";

const HOST = "Host: localhost";
const BROKEN = "a header without a colon";

it.each(DIALECTS)("$name: what the parser refuses is answered in the dialect's own shape", async (dialect) => {
  const { port, log } = await startTestGateway();
  const line = `POST ${dialect.path({ messages: [] }, false)} HTTP/1.1`;
  const broken = await rawRequest(port, [line, HOST, BROKEN]);
  expect(broken.status).toBe(400);
  expect(dialect.error(JSON.parse(broken.body), 400).message).toBe("The request is not valid HTTP.");
  const large = await rawRequest(port, [line, HOST, `x: ${"y".repeat(17_000)}`]);
  expect([large.status, dialect.error(JSON.parse(large.body), 431).message]).toEqual([
    431,
    "The headers of the request are too large.",
  ]);
  expect(log.filter(({ status }) => status === 400 || status === 431)).toHaveLength(2);
});

it("the headers tell the dialect where the path does not", async () => {
  const { port } = await startTestGateway();
  const answer = await rawRequest(port, ["GET /v1/models HTTP/1.1", HOST, "anthropic-version: 2023-06-01", BROKEN]);
  expect(JSON.parse(answer.body)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  const unknown = await rawRequest(port, ["?", HOST]);
  expect(JSON.parse(unknown.body)).toMatchObject({ error: { code: "bad_http", param: null } });
});

it("a body that breaks off is answered in the dialect of its request", async () => {
  const { port } = await startTestGateway();
  const head = ["POST /api/chat HTTP/1.1", HOST, `authorization: Bearer ${KEY}`, "content-type: application/json"];
  const connection = new RawConnection(port);
  connection.send(`${[...head, "transfer-encoding: chunked"].join("\r\n")}\r\n\r\nno number\r\n`);
  const { status, body } = readAnswer(await connection.closed());
  expect([status, JSON.parse(body)]).toMatchObject([400, { error: "The request is not valid HTTP." }]);
});

it("an answer on its way is not mixed with another", async () => {
  const { port, engine } = await startTestGateway();
  const question = JSON.stringify({ model: "some-model", messages: [{ role: "user", content: "hello" }] });
  const head = ["POST /api/chat HTTP/1.1", HOST, `authorization: Bearer ${KEY}`, "content-type: application/json"];
  const connection = new RawConnection(port);
  connection.send(`${[...head, `content-length: ${question.length}`].join("\r\n")}\r\n\r\n${question}`);
  const answer = await engine.next();
  answer.say("begun");
  await connection.until("begun");
  connection.send(`${BROKEN}\r\n\r\n`);
  expect(await connection.closed()).not.toContain("not valid HTTP");
});

it.each([
  ["/v1beta/nothing", { error: { status: "NOT_FOUND" } }],
  ["/api/embed", { error: expect.stringContaining("does not exist") }],
  ["/v1/messages/nothing", { type: "error" }],
  ["/nothing", { error: { code: "unknown_path" } }],
])("%s does not exist, says its dialect", async (path, expected) => {
  const { url } = await startTestGateway();
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${KEY}` } });
  expect([response.status, await response.json()]).toMatchObject([404, expected]);
});
