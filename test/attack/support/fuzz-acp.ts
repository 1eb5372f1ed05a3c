import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { excursor } from "../../cli/support/excursor.ts";
import { mutated, mutation, type Tree } from "./mutate.ts";
import type { FuzzBudget } from "./seed.ts";

type Message = Readonly<Record<string, unknown>> & {
  readonly error?: { readonly code: number; readonly data?: unknown };
};

/** `excursor acp` as a process, and an editor that may send it any line. */
export interface AcpEditor {
  send(line: string): void;
  /** The result of a request; throws if it is refused. */
  ask(method: string, params: object): Promise<Record<string, unknown>>;
  /** Lines that are no messages, and errors of ours, since it was last asked. */
  takeFaults(): readonly string[];
  /** Closes its stdin. */
  leave(): Promise<{ readonly code: number | null; readonly stderr: string }>;
}

const PATIENCE_MS = 20_000;

export function setUpAcp(): AcpEditor {
  const home = mkdtempSync(join(tmpdir(), "excursor-acp-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const environment = { EXCURSOR_HOME: home, HOME: home, EXCURSOR_LOG_LEVEL: "error" };
  const { child, exited } = excursor(["acp", "--demo"], { environment, input: null });
  const waiting = new Map<unknown, (message: Message) => void>();
  let faults: string[] = [];
  let count = 0;
  const onLine = (line: string): void => {
    const message = parse(line);
    if (!message || isFault(message)) faults.push(line.slice(0, 1000));
    const id = message?.["id"];
    if (message && "method" in message && id !== undefined) {
      // Requests to the editor are refused: it has neither files nor a terminal.
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message: "no" } })}\n`);
    } else if (message) waiting.get(id)?.(message);
  };
  let rest = "";
  // Not by `readline`, for which U+2028 ends a line, too.
  child.stdout.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  return {
    send: (line) => void child.stdin.write(`${line}\n`),
    async ask(method, params) {
      const id = `asked-${++count}`;
      const { promise, resolve, reject } = Promise.withResolvers<Message>();
      waiting.set(id, resolve);
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), PATIENCE_MS);
      void exited.then(({ code, stderr }) => reject(new Error(`it exited with ${code}: ${stderr.slice(-2000)}`)));
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      const { error, result } = await promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(id);
      });
      if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result as Record<string, unknown>;
    },
    takeFaults() {
      const taken = faults;
      faults = [];
      return taken;
    },
    async leave() {
      child.stdin.end();
      return exited;
    },
  };
}

function parse(line: string): Message | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const INTERNAL_ERROR = -32_603;

const isFault = ({ error }: Message): boolean =>
  error?.code === INTERNAL_ERROR || /\bat .+:\d+:\d+\)?|node:internal|node_modules/.test(JSON.stringify(error ?? ""));

const message = (method: string, params: object, id?: string | number) =>
  ({ jsonrpc: "2.0", ...(id !== undefined && { id }), method, params }) as Tree;

const cwd = "/tmp";
const stdio = { name: "a", command: "no-such-program", args: ["x"], env: [{ name: "A", value: "b" }] };
const http = { type: "http", name: "b", url: "http://127.0.0.1:9/mcp", headers: [{ name: "x-a", value: "b" }] };

/** One good message of every kind that an editor may send; `kept` and `lost` are sessions. */
const messagesFor = (kept: string, lost: string): readonly Tree[] => [
  message("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true }, terminal: true } }, 1),
  message("authenticate", { methodId: "login" }, 2),
  message("session/new", { cwd, mcpServers: [] }, 3),
  message("session/new", { cwd, mcpServers: [stdio, http] }, 4),
  message("session/load", { cwd, mcpServers: [], sessionId: lost }, 5),
  message("session/resume", { cwd, mcpServers: [], sessionId: lost }, 6),
  message("session/list", { cwd }, 7),
  message("session/set_config_option", { sessionId: kept, configId: "model", value: "gpt-5.5" }, 8),
  message("session/prompt", { sessionId: kept, prompt: [{ type: "text", text: "@sim say hello" }] }, 9),
  message(
    "session/prompt",
    {
      sessionId: kept,
      prompt: [
        { type: "text", text: "hello" },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "resource", resource: { uri: "file:///a", text: "a" } },
        { type: "resource_link", uri: "file:///b", name: "b" },
      ],
    },
    "ten",
  ),
  message("session/cancel", { sessionId: kept }),
  message("session/close", { sessionId: lost }, 11),
  message("session/delete", { sessionId: lost }, 12),
  { jsonrpc: "2.0", id: 1, result: { outcome: { outcome: "cancelled" } } },
  { jsonrpc: "2.0", id: 1, error: { code: -32_000, message: "no" } },
];

/** Lines that are no message at all. */
const LINES = [
  "",
  " ",
  "{",
  "null",
  "[]",
  "[[]]",
  '"text"',
  '{"jsonrpc":"2.0"}',
  "\u0000",
  "\ufeff{}",
  "[".repeat(5000),
];

/** Lines in any order. Fast-check prints them whole. */
class Lines {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    this.lines = lines;
  }

  [fc.toStringMethod](): string {
    return this.lines.map((line) => line.slice(0, 2000)).join("\n");
  }
}

/** Whatever an editor sends, in whatever order: nothing ends the process, and the next prompt is answered. */
export async function fuzzAcp(editor: AcpEditor, budget: FuzzBudget): Promise<void> {
  // Before it is told which version is spoken.
  for (const given of messagesFor("none", "none")) editor.send(mutated(given, []));
  await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const begin = async () => String((await editor.ask("session/new", { cwd, mcpServers: [] }))["sessionId"]);
  const [kept, lost] = [await begin(), await begin()];
  const line = fc.oneof(
    {
      weight: 12,
      arbitrary: fc
        .tuple(fc.constantFrom(...messagesFor(kept, lost)), fc.array(mutation, { maxLength: 3 }))
        .map(([given, mutations]) => mutated(given, mutations)),
    },
    fc.constantFrom(...LINES),
  );
  const lines = fc.array(line, { minLength: 1, maxLength: 4 }).map((given) => new Lines(given));
  await fc.assert(
    fc.asyncProperty(lines, async (given) => {
      for (const one of given.lines) editor.send(one);
      await editor.ask("session/list", {});
      expect(editor.takeFaults()).toEqual([]);
    }),
    budget,
  );
  const answer = () => editor.ask("session/prompt", { sessionId: kept, prompt: [{ type: "text", text: "hello" }] });
  // A prompt of before may still be under way.
  await expect.poll(() => answer().catch(String), { timeout: PATIENCE_MS }).toMatchObject({ stopReason: "end_turn" });
  expect(editor.takeFaults()).toEqual([]);
}
