import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { runClaude } from "./support/claude-code.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const BEARER = { ANTHROPIC_AUTH_TOKEN: KEY };

const withoutReminders = (text = ""): string => text.replaceAll(/\s*<system-reminder>[\s\S]*?<\/system-reminder>/g, "");

describe("Claude Code, headless, through the gateway", () => {
  it.each([
    ["a bearer token", BEARER],
    ["an API key", { ANTHROPIC_API_KEY: KEY }],
  ])(
    "signed in by %s, it runs a command and writes a file with its own tools, on one stream",
    proves("claude-code", "messages", "stream", "tools", "rounds", "thinking"),
    async (_, environment) => {
      const { start, trace } = await setUpGateway();
      const { url } = await start();
      const prompt = [
        "@sim need Bash ;; think let me see",
        '@sim call Bash {"command":"echo from the shell | tee shell.txt","description":"writes"}',
        '@sim wait ;; call Write {"file_path":"written.txt","content":"from the tool"}',
        "@sim say done: {{result.0}}, {{reused}}",
      ].join("\n");
      const run = runClaude({ url, environment, prompt });
      const { code, lines, stderr } = await run.ended;
      expect(code, stderr).toBe(0);
      expect(lines.at(-1)).toMatchObject({ type: "result", is_error: false });
      // What it tells the model on the way comes with the results.
      expect(withoutReminders(lines.at(-1)?.result)).toBe("done: from the shell, stream");
      expect(readFileSync(join(run.folder, "shell.txt"), "utf8")).toBe("from the shell\n");
      expect(readFileSync(join(run.folder, "written.txt"), "utf8")).toBe("from the tool");
      const thought = lines.flatMap((line) => line.message?.content ?? []).flatMap(({ thinking }) => thinking ?? []);
      expect(thought).toContain("let me see");
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
      expect(trace.some(({ kind }) => kind === "violation")).toBe(false);
    },
  );

  it(
    "calls two tools at once, and native requests of the model become calls of its own",
    proves("claude-code", "messages", "parallel"),
    async () => {
      const { start } = await setUpGateway();
      const { url } = await start();
      const prompt = [
        "@sim need Bash",
        '@sim call Bash {"command":"echo one"} ;; call Bash {"command":"echo two"} ;; wait',
        '@sim exec shell {"command":"echo three"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
      ].join("\n");
      const { lines } = await runClaude({ url, environment: BEARER, prompt }).ended;
      expect(withoutReminders(lines.at(-1)?.result).split(/\s+/)).toEqual(["one", "two", "three", "stream"]);
    },
  );

  it(
    "edits a file thirty times on one stream, and continues from the checkpoint, after a restart too",
    proves("claude-code", "messages", "rounds"),
    async () => {
      const { start, trace } = await setUpGateway();
      const { url, stop, log } = await start();
      const edits = Array.from({ length: 30 }, (_, n) => {
        const args = { file_path: "count.txt", old_string: `<${n}>`, new_string: `<${n + 1}>` };
        return `@sim wait ;; call Edit ${JSON.stringify(args)}`;
      });
      const prompt = [
        "@sim need Edit",
        '@sim call Write {"file_path":"count.txt","content":"<0>"}',
        '@sim wait ;; call Read {"file_path":"count.txt"}',
        ...edits,
        "@sim say done: {{reused}}",
      ].join("\n");
      const requests = () => trace.filter(({ kind }) => kind === "run_request").length;
      const first = runClaude({ url, environment: BEARER, prompt });
      const { lines, stderr } = await first.ended;
      expect(lines.at(-1)?.result, stderr).toBe("done: stream");
      expect(readFileSync(join(first.folder, "count.txt"), "utf8")).toBe("<30>");
      expect([requests(), log().match(/edited/g)]).toEqual([1, null]);

      await stop();
      const { url: again } = await start();
      const next = runClaude({ url: again, environment: BEARER, prompt: "@sim say {{reused}}", after: first });
      expect((await next.ended).lines.at(-1)?.result).toBe("checkpoint");
      expect(requests()).toBe(2);
    },
  );

  it("shows the model an image", proves("claude-code", "messages", "images"), async () => {
    const { start } = await setUpGateway();
    const { url } = await start();
    const content = [
      { type: "text", text: "@sim say {{images}}" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
    ];
    const message = { type: "user", message: { role: "user", content } };
    const { lines } = await runClaude({ url, environment: BEARER, prompt: "", message }).ended;
    expect(lines.at(-1)?.result).toMatch(/^1 image\/png:\d+$/);
  });

  it(
    "waits where it is told to, and gives up on a wrong key",
    proves("claude-code", "messages", "errors"),
    async () => {
      const { start, trace } = await setUpGateway();
      const { url } = await start();
      const limited = "@sim fail resource_exhausted ERROR_RATE_LIMITED retry=1 times=1 ;; say at last";
      const { lines } = await runClaude({ url, environment: BEARER, prompt: limited }).ended;
      expect(lines.at(-1)?.result).toBe("at last");
      trace.length = 0;
      const environment = { ANTHROPIC_AUTH_TOKEN: "a-wrong-key", CLAUDE_CODE_MAX_RETRIES: "0" };
      const wrong = await runClaude({ url, environment, prompt: "hi" }).ended;
      expect(wrong.code).not.toBe(0);
      expect(wrong.lines.at(-1)).toMatchObject({ is_error: true, result: expect.stringContaining("API key") });
      expect(trace).toEqual([]);
    },
  );

  it("takes its question back when it is interrupted", proves("claude-code", "messages", "abort"), async () => {
    const { start, trace } = await setUpGateway();
    const { url } = await start();
    const run = runClaude({ url, environment: BEARER, prompt: "@sim say a ;; silent 60000" });
    await expect.poll(() => trace.some(({ kind }) => kind === "run_request"), { timeout: 20_000 }).toBe(true);
    run.child.kill("SIGINT");
    await run.ended;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 10_000 }).toBe(true);
  });
});
