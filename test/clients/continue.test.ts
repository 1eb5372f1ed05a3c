import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { setUpDesk, startCli } from "./support/run-cli.ts";

const PROVIDERS = { chat: "openai", messages: "anthropic" } as const;

async function setUp(provider: string) {
  const { start, trace } = await setUpGateway();
  const { url } = await start();
  const desk = setUpDesk();
  const begin = (prompt: string, key = KEY) => {
    const model = {
      name: "m",
      provider,
      model: "gpt-5.5",
      apiBase: `${url}/v1`,
      apiKey: key,
      capabilities: ["tool_use"],
    };
    const config = join(desk.home, "config.yaml");
    // JSON is YAML, too.
    writeFileSync(config, JSON.stringify({ name: "mine", version: "0.0.1", schema: "v1", models: [model] }));
    mkdirSync(join(desk.home, "continue"), { recursive: true });
    return startCli("cn", ["-p", "--auto", "--config", config, prompt], desk, {
      CONTINUE_GLOBAL_DIR: join(desk.home, "continue"),
      CONTINUE_TELEMETRY_ENABLED: "0",
    });
  };
  return { desk, trace, begin, run: (prompt: string, key?: string) => begin(prompt, key).outcome };
}

describe.each(["chat", "messages"] as const)("Continue CLI over %s", (dialect) => {
  const did = ["stream", "tools", "parallel", "rounds"] as const;

  it("calls tools at once and again, and goes on on the same stream", proves("continue", dialect, ...did), async () => {
    const { desk, trace, run } = await setUp(PROVIDERS[dialect]);
    const outcome = await run(
      '@sim need Bash ;; call Bash {"command":"echo one > one.txt; echo one"} ;; call Bash {"command":"echo two"} ;; wait ;; call Bash {"command":"echo three"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
    );
    expect(outcome.code, outcome.stderr).toBe(0);
    expect(outcome.stdout).toMatch(/one\s+two\s+three\s+stream\s*$/);
    expect(readFileSync(join(desk.folder, "one.txt"), "utf8")).toBe("one\n");
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });

  it("says why it was refused", proves("continue", dialect, "errors"), async () => {
    const { run } = await setUp(PROVIDERS[dialect]);
    const { code, stdout, stderr } = await run("@sim say hi", "wrong");
    expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(/401|API key/i)]);
  });

  it("takes its question with it when it is stopped", proves("continue", dialect, "abort"), async () => {
    const { begin, trace } = await setUp(PROVIDERS[dialect]);
    const { child, outcome } = begin("@sim need Bash ;; say a ;; silent 120000");
    await expect.poll(() => trace.some(({ kind }) => kind === "text_delta"), { timeout: 60_000 }).toBe(true);
    child.kill("SIGTERM");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 10_000 }).toBe(true);
  });
});
