import fc from "fast-check";
import { expect } from "vitest";
import type { Target } from "./fuzz-requests.ts";
import { mutated, mutation, type Tree } from "./mutate.ts";
import type { FuzzBudget } from "./seed.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const composerId = "c1";
const range = { start: { line: 1 }, end: { line: 2 } };

/** Requests of the IDE, for an agent that is called `test` and takes images. */
const REQUESTS: readonly (readonly [path: string, body: Tree])[] = [
  ["sendMessage", { provider: "test", message: "say hello", composerId }],
  ["sendMessage", { provider: { id: "Test (ACP)", command: "no" }, message: "say hello", composerId, stream: true }],
  [
    "sendMessage",
    {
      provider: "acp:test",
      modelId: "small",
      composerId,
      message: [
        { type: "text", text: "say hello" },
        { type: "image", mimeType: "image/png", data: PIXEL },
        { type: "resource", resource: { uri: "file:///a", text: "a" } },
        { type: "resource_link", uri: "file:///b", name: "b" },
      ],
      images: [`data:image/png;base64,${PIXEL}`, { mimeType: "image/png", data: PIXEL }],
      references: ["file:///c", { uri: { scheme: "file", path: "/d" }, name: "d", text: "d", range }],
      stream: true,
    },
  ],
  ["initSession", { provider: "test", composerId: "c2" }],
  ["getSession", { provider: "test", composerId: "c2" }],
  ["cancel", { composerId: "c3" }],
  ["permission", { requestId: "r1", optionId: "yes" }],
  ["permission", { requestId: "r1", cancelled: true }],
  ["log", { level: "warn", message: "something" }],
];

/** One request as it is sent. Fast-check prints it whole. */
class HostileCall {
  readonly path: string;
  readonly json: string;

  constructor(path: string, json: string) {
    this.path = path;
    this.json = json;
  }

  [fc.toStringMethod](): string {
    return `POST /acp/${this.path} ${this.json}`;
  }
}

const hostileCall = fc
  .tuple(fc.constantFrom(...REQUESTS), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([[path, body], mutations]) => new HostileCall(path, mutated(body, mutations)));

const PATIENCE_MS = 20_000;

/** Whatever the IDE sends: an answer or a refusal in the bridge's own words, and no failure of ours. */
export async function fuzzBridge(target: Target, budget: FuzzBudget): Promise<void> {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(hostileCall, async ({ path, json }) => {
      if ((await send(target, path, json)) === 200) accepted++;
    }),
    budget,
  );
  expect(accepted, "the mutations reach what is accepted").toBeGreaterThan(0);
  for (const [path, body] of REQUESTS.slice(0, 5)) expect(await send(target, path, mutated(body, []))).toBe(200);
}

async function send({ url, key, secrets }: Target, path: string, json: string): Promise<number> {
  const response = await fetch(`${url}/acp/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "x-excursor-bridge": "1", "content-type": "application/json" },
    body: json,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const text = await response.text();
  const shown = `${response.status} ${text.slice(0, 1000)}`;
  expect(text, shown).not.toMatch(/\bat .+:\d+:\d+\)?|node:internal|node_modules|internal_error|configuration_error/);
  for (const secret of [key, ...secrets]) expect(text.includes(secret), shown).toBe(false);
  if (response.headers.get("content-type")?.startsWith("application/x-ndjson")) {
    const lines = text.trim().split("\n");
    expect(JSON.parse(lines.at(-1) ?? "").type, shown).toMatch(/^(?:done|error)$/);
    return response.status;
  }
  const answer = JSON.parse(text);
  if (response.status === 200) return 200;
  expect(answer, shown).toMatchObject({ error: true, code: expect.any(String), message: expect.any(String) });
  expect(response.status < 500, shown).toBe(true);
  return response.status;
}
