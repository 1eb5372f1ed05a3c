import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { excursor } from "../../cli/support/excursor.ts";
import type { Target } from "./fuzz-requests.ts";
import { mutated, mutation, type Tree } from "./mutate.ts";
import type { FuzzBudget } from "./seed.ts";

const SERVER = fileURLToPath(new URL("../../mcp/support/scripted-server.ts", import.meta.url));
const KEY = "exc_a-key-for-tests-only-0123456789";

/** `mcp serve --port` as a process, in front of one server that is called `srv`. */
export async function setUpMcpServe() {
  const home = mkdtempSync(join(tmpdir(), "excursor-mcp-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const mcpServers = { srv: { command: process.execPath, args: [SERVER] } };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  const environment = { EXCURSOR_HOME: home, EXCURSOR_KEY: KEY };
  const served = excursor(["mcp", "serve", "--port", "0", "--json"], { environment });
  const { url } = JSON.parse(await served.firstLine()) as { url: string };
  const target: Target = { url, key: KEY, secrets: [home] };
  const stop = async () => {
    served.child.kill("SIGTERM");
    return served.exited;
  };
  return { target, stop };
}

const VERSION = "2025-06-18";
const clientInfo = { name: "test", version: "1" };
const request = (method: string, params: object = {}, id: string | number = 1) =>
  ({ jsonrpc: "2.0", id, method, params }) as Tree;
const notification = (method: string, params: object = {}) => ({ jsonrpc: "2.0", method, params }) as Tree;

const INITIALIZE = request("initialize", { protocolVersion: VERSION, capabilities: { elicitation: {} }, clientInfo });
const LIST = request("tools/list", {}, 2);

/** One good message of every kind that a client may send. */
const MESSAGES: readonly Tree[] = [
  INITIALIZE,
  notification("notifications/initialized"),
  LIST,
  request("tools/call", { name: "srv__echo", arguments: { a: 1 }, _meta: { progressToken: 7 } }, 3),
  request("tools/call", { name: "srv__slow", arguments: {} }, "four"),
  request("ping", {}, 5),
  notification("notifications/cancelled", { requestId: 3, reason: "no" }),
  notification("notifications/progress", { progressToken: 7, progress: 1 }),
  { jsonrpc: "2.0", id: 6, result: { action: "accept", content: { name: "Ada" } } },
  { jsonrpc: "2.0", id: 6, error: { code: -32_600, message: "no" } },
  [LIST, request("ping", {}, 8)],
];

interface Given {
  readonly method: "POST" | "GET" | "DELETE";
  readonly isInSession: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: string;
}

/** Requests in any order. Fast-check prints them whole. */
class Conversation {
  readonly requests: readonly Given[];

  constructor(requests: readonly Given[]) {
    this.requests = requests;
  }

  [fc.toStringMethod](): string {
    return JSON.stringify(this.requests);
  }
}

const hostileRequest: fc.Arbitrary<Given> = fc.record({
  method: fc.oneof({ weight: 12, arbitrary: fc.constant("POST" as const) }, fc.constantFrom("GET", "DELETE")),
  isInSession: fc.boolean(),
  headers: fc.oneof(
    { weight: 4, arbitrary: fc.constant({}) },
    fc.constantFrom<Record<string, string>>(
      { accept: "application/json" },
      { accept: "text/html" },
      { "mcp-protocol-version": "1999-01-01" },
      { "mcp-protocol-version": "__proto__" },
      { "mcp-session-id": "__proto__" },
      { "last-event-id": "9".repeat(1000) },
    ),
  ),
  json: fc
    .tuple(fc.constantFrom(...MESSAGES), fc.array(mutation, { maxLength: 3 }))
    .map(([message, mutations]) => mutated(message, mutations)),
});

const conversation = fc.array(hostileRequest, { minLength: 1, maxLength: 4 }).map((given) => new Conversation(given));

const PATIENCE_MS = 20_000;
const ACCEPT = "application/json, text/event-stream";

/** Whatever a client sends, in whatever order: an answer or a refusal, no failure of ours, and the next one is served. */
export async function fuzzMcpServe(target: Target, budget: FuzzBudget): Promise<void> {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(conversation, async ({ requests }) => {
      const session = await begin(target);
      for (const given of requests) {
        if ((await send(target, given, session)).text.includes('"result"')) answered++;
      }
      await send(target, { method: "DELETE", isInSession: true, headers: {}, json: "" }, session);
    }),
    budget,
  );
  expect(answered, "the mutations reach what is answered").toBeGreaterThan(0);
  const session = await begin(target);
  const list = await send(target, { method: "POST", isInSession: true, headers: {}, json: mutated(LIST, []) }, session);
  expect(list.text).toContain("srv__echo");
}

async function begin(target: Target): Promise<string> {
  const given = { method: "POST", isInSession: false, headers: {}, json: mutated(INITIALIZE, []) } as const;
  const { session } = await send(target, given, "");
  expect(session).toMatch(/./);
  return session;
}

async function send(
  { url, key, secrets }: Target,
  { method, isInSession, headers, json }: Given,
  session: string,
): Promise<{ readonly text: string; readonly session: string }> {
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      accept: ACCEPT,
      "content-type": "application/json",
      ...(isInSession && { "mcp-session-id": session, "mcp-protocol-version": VERSION }),
      ...headers,
    },
    ...(method === "POST" && { body: json }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  // The stream of a GET stays open for what the server has to tell.
  const isEndless = method === "GET" && response.status === 200;
  const text = isEndless ? "" : await response.text();
  if (isEndless) await response.body?.cancel();
  const shown = `${response.status} ${text.slice(0, 1000)}`;
  expect(response.status < 500 || response.status === 501, shown).toBe(true);
  expect(text, shown).not.toMatch(/\bat .+:\d+:\d+\)?|node:internal|node_modules|internal_error/);
  // The SDK tells wrong parameters as an internal error, with a list of what is wrong. Others would be ours.
  expect(text, shown).not.toMatch(/-32603,"message":"(?!\[)/);
  for (const secret of [key, ...secrets]) expect(text.includes(secret), shown).toBe(false);
  return { text, session: response.headers.get("mcp-session-id") ?? "" };
}
