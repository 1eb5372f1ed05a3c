import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { type CliOutcome, setUpDesk, startCli } from "./support/run-cli.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function setUp() {
  const { start, trace } = await setUpGateway();
  const { url, log } = await start();
  const desk = setUpDesk();
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    telemetry: { enabled: false },
    privacy: { usageStatisticsEnabled: false },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  };
  mkdirSync(join(desk.home, ".gemini"));
  writeFileSync(join(desk.home, ".gemini", "settings.json"), JSON.stringify(settings));
  const run = (prompt: string, model = "gpt-5.5", key = KEY) =>
    startCli("gemini", ["--model", model, "--yolo", "--skip-trust", "-o", "stream-json", "-p", prompt], desk, {
      GEMINI_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_CLI_NO_RELAUNCH: "true",
    });
  return { desk, trace, log, run };
}

const textOf = ({ events }: CliOutcome): string =>
  events.map(({ type, role, content }) => (type === "message" && role === "assistant" ? content : "")).join("");

describe("Gemini CLI", () => {
  it(
    "runs a command, writes a file, and goes on with the results on the same stream",
    proves("gemini-cli", "gemini", "stream", "tools", "parallel", "rounds"),
    async () => {
      const { desk, trace, run } = await setUp();
      const file = join(desk.folder, "made.txt");
      const outcome = await run(
        `@sim need run_shell_command ;; think let me see ;; call run_shell_command {"command":"echo shown"} ;; call write_file {"file_path":"${file}","content":"made\\n"} ;; wait ;; call run_shell_command {"command":"echo again"} ;; say {{result.0}} {{result.2}} {{reused}}`,
      ).outcome;
      expect([outcome.code, outcome.stderr]).toEqual([0, expect.any(String)]);
      expect(readFileSync(file, "utf8")).toBe("made\n");
      expect(textOf(outcome)).toMatch(/shown[\s\S]*again[\s\S]* stream$/);
      expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    },
  );

  it("sends an image", proves("gemini-cli", "gemini", "images"), async () => {
    const { desk, run } = await setUp();
    writeFileSync(join(desk.folder, "dot.png"), Buffer.from(PNG, "base64"));
    const outcome = await run("@sim need run_shell_command ;; say {{images}} ;; say @dot.png").outcome;
    expect(textOf(outcome)).toContain("image/png:70");
  });

  it(
    "is told of a model that does not exist, and of a wrong key",
    proves("gemini-cli", "gemini", "errors"),
    async () => {
      const { run, log } = await setUp();
      const unknown = await run("hi", "gpt-5.6").outcome;
      expect([unknown.code === 0, unknown.stdout + unknown.stderr]).toEqual([
        false,
        expect.stringContaining("gpt-5.5"),
      ]);
      const stranger = await run("hi", "gpt-5.5", "not-the-right-key").outcome;
      expect(stranger.code).not.toBe(0);
      expect(log()).not.toContain("not-the-right-key");
    },
  );

  it("takes its question with it when it is stopped", proves("gemini-cli", "gemini", "abort"), async () => {
    const { run, trace } = await setUp();
    const { child, outcome } = run("@sim need run_shell_command ;; say a ;; silent 120000");
    await expect.poll(() => trace.some(({ kind }) => kind === "run_request"), { timeout: 60_000 }).toBe(true);
    child.kill("SIGKILL");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 10_000 }).toBe(true);
  });
});
