import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SNIPPETS } from "../../src/client-config/snippets.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { type Dialect, proves } from "./matrix/proof.ts";
import { type CliOutcome, setUpDesk, startCli } from "./support/run-cli.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The variables that `excursor connect copilot-cli` prints, with the key in place of the command that prints it. */
function printedVariables(url: string): Record<string, string> {
  const text = SNIPPETS.find(({ id }) => id === "copilot-cli")?.text({ url, model: "gpt-5.5" }) ?? "";
  const lines = [...text.matchAll(/^export (\w+)=(.*)$/gm)];
  return Object.fromEntries(
    lines.map(([, name = "", value = ""]) => [name, value.includes("excursor key") ? KEY : value]),
  );
}

async function setUp(more: Readonly<Record<string, string>>) {
  const { start, trace } = await setUpGateway();
  const { url, log } = await start();
  const desk = setUpDesk();
  const args = ["--allow-all-tools", "--allow-all-paths", "--output-format", "json", "--disable-client-telemetry"];
  const run = (prompt: string, ...flags: string[]) =>
    startCli("copilot", [...args, ...flags, "-p", prompt], desk, {
      ...printedVariables(url),
      ...more,
      COPILOT_AUTO_UPDATE: "false",
      COPILOT_OFFLINE: "true",
    }).outcome;
  return { desk, trace, log, run };
}

const textOf = ({ events }: CliOutcome): string =>
  events
    .map(({ type, data }) => (type === "assistant.message" ? String((data as { content?: unknown }).content) : ""))
    .join("");

describe.each<[string, Dialect, Readonly<Record<string, string>>]>([
  ["Chat Completions", "chat", {}],
  ["Responses", "responses", { COPILOT_PROVIDER_WIRE_API: "responses" }],
  [
    "Responses over a WebSocket",
    "websocket",
    { COPILOT_PROVIDER_WIRE_API: "responses", COPILOT_PROVIDER_TRANSPORT: "websockets" },
  ],
])("GitHub Copilot CLI over %s", (_, dialect, variables) => {
  it(
    "runs a command, and goes on with the result on the same stream",
    proves("copilot-cli", dialect, "stream", "tools", "parallel", "rounds"),
    async () => {
      const { trace, log, run } = await setUp(variables);
      const outcome = await run(
        '@sim need bash ;; think let me see ;; call bash {"command":"echo shown","description":"x"} ;; call bash {"command":"echo two","description":"x"} ;; wait ;; call bash {"command":"echo three","description":"x"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
      );
      expect([outcome.code, outcome.stderr]).toEqual([0, expect.any(String)]);
      expect(textOf(outcome)).toMatch(/shown[\s\S]*two[\s\S]*three[\s\S]* stream$/);
      expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
      expect(log().includes('"method":"MESSAGE"')).toBe("COPILOT_PROVIDER_TRANSPORT" in variables);
    },
  );

  it("says why it was refused", proves("copilot-cli", dialect, "errors"), async () => {
    const { run } = await setUp({ ...variables, COPILOT_PROVIDER_API_KEY: "wrong" });
    const { code, stdout, stderr } = await run("@sim say hi");
    expect([code === 0, stdout + stderr]).toEqual([false, expect.stringMatching(/401|API key|authenti/i)]);
  });

  it("sends an image", proves("copilot-cli", dialect, "images"), async () => {
    const { desk, run } = await setUp(variables);
    const file = join(desk.folder, "dot.png");
    writeFileSync(file, Buffer.from(PNG, "base64"));
    const outcome = await run("@sim need bash ;; say {{images}}", "--attachment", file);
    expect(textOf(outcome)).toContain("image/png:");
  });

  it("shows thinking", proves("copilot-cli", dialect, "thinking"), async () => {
    const { run } = await setUp(variables);
    const outcome = await run("@sim need bash ;; think let me see ;; say done");
    const shown = outcome.events.filter(({ type }) => type === "assistant.reasoning").map(({ data }) => data);
    expect([textOf(outcome), shown]).toEqual(["done", [expect.objectContaining({ content: "let me see" })]]);
  });
});
