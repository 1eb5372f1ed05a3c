import fc from "fast-check";
import { expect } from "vitest";
import { type RawAnswer, RawConnection, readAnswer } from "../../server/support/raw.ts";
import type { Target } from "./fuzz-requests.ts";
import type { FuzzBudget } from "./seed.ts";

const BODY = '{"model":"gpt-5.5","max_tokens":100,"messages":[{"role":"user","content":"hello"}],"input":"hello"}';

const METHODS = ["GET", "POST", "HEAD", "DELETE", "OPTIONS", "PUT", "get", "PRI", "G\u0000T", "", "X".repeat(200)];

const PATHS = [
  "/v1/models",
  "/v1/models/gpt-5.5",
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/responses/resp_1",
  "/v1/responses/resp_1/input_items",
  "/v1/messages",
  "/v1/messages/count_tokens",
  "/healthz",
  "/api/hello",
  "/",
];

/** What may follow a path, or stand in its place. */
const TAILS = [
  "",
  "/",
  "?",
  "?limit=1000&after=%ff",
  "?limit=-1&limit=1e400",
  "/%",
  "/%ff%fe",
  "/%00",
  "/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
  "/../../etc/passwd",
  "/__proto__",
  "/constructor",
  "/toString",
  "//",
  "#fragment",
  " HTTP/1.1",
  "\u0000",
  `/${"a".repeat(5000)}`,
  `?${"q".repeat(20_000)}`,
];

const HEADERS = [
  "content-length: 5",
  "content-length: -1",
  "content-length: 1e3",
  "content-length: 99999999999999999999",
  `content-length: ${BODY.length}\r\ncontent-length: ${BODY.length + 1}`,
  "transfer-encoding: chunked",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: nonsense",
  "content-encoding: gzip",
  "content-type: text/plain",
  "content-type: application/json; charset=utf-16",
  "content-type: ",
  "expect: 100-continue",
  "expect: miracles",
  "upgrade: websocket\r\nconnection: upgrade",
  "host: evil.example",
  "host: ",
  "origin: null",
  "authorization: Bearer",
  "authorization: Basic eHg6eHg=",
  `authorization: Bearer ${"x".repeat(5000)}`,
  "x-api-key: \u00ff\u0001",
  "anthropic-version: 2023-06-01",
  "anthropic-version: __proto__",
  "x-request-id: \u001b[2J",
  "x-excursor-tools: everything",
  "no colon",
  ": no name",
  " folded: line",
  "bad name: x",
  `x-long: ${"y".repeat(20_000)}`,
  ...["accept", "user-agent", "cookie"].map((name) => `${name}: {"toString":1}`),
];

const BODIES = [
  "",
  BODY,
  BODY.slice(0, -5),
  `\ufeff${BODY}`,
  "null",
  "[]",
  '"text"',
  "{",
  "\u0000",
  `5\r\n${BODY.slice(0, 5)}\r\n0\r\n\r\n`,
  "zz\r\nnot a chunk\r\n",
  "ffffffffffffffff\r\nx\r\n",
  `5\r\n${BODY}`,
  "0\r\nbad trailer\r\n\r\n",
];

/** A request as bytes. Fast-check prints it whole. */
class RawRequest {
  readonly head: readonly string[];
  readonly body: string;

  constructor(head: readonly string[], body: string) {
    this.head = head;
    this.body = body;
  }

  [fc.toStringMethod](): string {
    return JSON.stringify([...this.head, "", this.body]);
  }
}

const rawRequests = ({ key, url }: Target): fc.Arbitrary<RawRequest> =>
  fc
    .record({
      method: fc.oneof({ weight: 3, arbitrary: fc.constantFrom("GET", "POST") }, fc.constantFrom(...METHODS)),
      path: fc.constantFrom(...PATHS),
      tail: fc.oneof({ weight: 2, arbitrary: fc.constant("") }, fc.constantFrom(...TAILS)),
      version: fc.oneof({ weight: 20, arbitrary: fc.constant("HTTP/1.1") }, fc.constantFrom("HTTP/1.0", "HTTP/3", "x")),
      headers: fc.array(fc.constantFrom(...HEADERS), { maxLength: 3 }),
      hasKey: fc.boolean(),
      hasLength: fc.boolean(),
      body: fc.constantFrom(...BODIES),
    })
    .map(({ method, path, tail, version, headers, hasKey, hasLength, body }) => {
      const usual = [
        `host: ${new URL(url).host}`,
        "content-type: application/json",
        ...(hasKey ? [`authorization: Bearer ${key}`] : []),
        ...(hasLength ? [`content-length: ${Buffer.byteLength(body)}`] : []),
      ];
      return new RawRequest([`${method} ${path}${tail} ${version}`, ...usual, ...headers], body);
    });

/** What a server that is asked for another protocol, or for an expectation it does not know, may say beside 501. */
const FINE = new Set([0, 501, 505]);

/** After this, one that has sent half a request goes away. */
const LEAVES_AFTER_MS = 300;

/** Whatever bytes come: a refusal, an answer or a closed connection; no failure of ours, no stack and no secret. */
export async function fuzzHttp(target: Target, budget: FuzzBudget): Promise<void> {
  const port = Number(new URL(target.url).port);
  // Several at once, since some wait.
  const requests = fc.array(rawRequests(target), { minLength: 1, maxLength: 16 });
  await fc.assert(
    fc.asyncProperty(requests, async (sent) => {
      for (const answer of await Promise.all(sent.map((request) => send(port, request)))) check(answer, target);
    }),
    budget,
  );
}

async function send(port: number, { head, body }: RawRequest): Promise<RawAnswer> {
  const connection = new RawConnection(port);
  connection.send(`${[...head, "connection: close"].join("\r\n")}\r\n\r\n${body}`);
  const timer = setTimeout(() => connection.socket.end(), LEAVES_AFTER_MS);
  const text = await connection.closed();
  clearTimeout(timer);
  return readAnswer(text);
}

function check(answer: RawAnswer, { key, secrets }: Target): void {
  const shown = `${answer.status} ${answer.head}\n${answer.body.slice(0, 500)}`;
  expect(answer.status < 500 || FINE.has(answer.status), shown).toBe(true);
  expect(answer.body, shown).not.toMatch(/\bat .+:\d+:\d+\)?|node:internal|node_modules|root:x:0/);
  for (const secret of [key, ...secrets]) expect(shown.includes(secret), shown).toBe(false);
}
