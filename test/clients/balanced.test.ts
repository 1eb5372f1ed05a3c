import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { TraceEntry } from "../../src/sim/options.ts";
import { startSim } from "../../src/sim/server.ts";
import { type Balancing, hasBalancer, startComposed } from "../cluster/support/compose-processes.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { runClaude } from "./support/claude-code.ts";
import { setUpDesk, startCli } from "./support/run-cli.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const defer = (cleanup: () => unknown) => void cleanups.push(cleanup);

async function setUp(balancing: Balancing) {
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry) });
  defer(() => sim.close());
  const given = { EXCURSOR_KEY: KEY, EXCURSOR_TOKEN: "tester", EXCURSOR_UPSTREAM: sim.url, EXCURSOR_LOG_LEVEL: "warn" };
  const { url } = await startComposed(defer, given, { balancing });
  const runs = () => trace.filter(({ kind }) => kind === "run_request").length;
  return { url, runs };
}

/** The model's runs: one if the conversation stays at a gateway, one for each request if it does not. */
const RUNS: readonly (readonly [Balancing, (runs: number) => boolean])[] = [
  ["kept together", (runs) => runs === 1],
  ["in turn", (runs) => runs > 1],
];

describe.skipIf(!hasBalancer).each(RUNS)("through a balancer, %s", (balancing, isRight) => {
  it("Claude Code runs commands, once", async () => {
    const { url, runs } = await setUp(balancing);
    const command = (text: string) => `call Bash {"command":"echo ${text} >> done.txt"} ;; wait`;
    const prompt = `@sim need Bash ;; ${command("one")} ;; ${command("two")} ;; say finished`;
    const run = runClaude({ url, environment: { ANTHROPIC_AUTH_TOKEN: KEY }, prompt });
    const { lines, code, stderr } = await run.ended;
    expect(code, stderr).toBe(0);
    expect(lines.at(-1)?.result).toContain("finished");
    expect(readFileSync(join(run.folder, "done.txt"), "utf8")).toBe("one\ntwo\n");
    expect(isRight(runs()), String(runs())).toBe(true);
  });

  it.each([true, false])("Codex runs commands, once (over a WebSocket: %s)", async (isSocket) => {
    const { url, runs } = await setUp(balancing);
    const desk = setUpDesk();
    const config = `model = "auto"
model_provider = "excursor"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.excursor]
name = "Excursor"
base_url = "${url}/v1"
env_key = "EXCURSOR_KEY"
wire_api = "responses"
supports_websockets = ${isSocket}
`;
    writeFileSync(join(desk.home, "config.toml"), config);
    const command = (text: string) => `call exec_command {"cmd":"echo ${text} >> done.txt"} ;; wait`;
    const prompt = `@sim need exec_command ;; ${command("one")} ;; ${command("two")} ;; say finished`;
    const { outcome } = startCli("codex", ["exec", "--json", "--skip-git-repo-check", prompt], desk, {
      CODEX_HOME: desk.home,
      EXCURSOR_KEY: KEY,
    });
    const { code, stdout, stderr } = await outcome;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("finished");
    expect(readFileSync(join(desk.folder, "done.txt"), "utf8")).toBe("one\ntwo\n");
    // A WebSocket is one connection, so a balancer sends all of its requests to one gateway.
    expect(isSocket ? runs() === 1 : isRight(runs()), String(runs())).toBe(true);
  });
});
