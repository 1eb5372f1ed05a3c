import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { proves } from "./matrix/proof.ts";
import { type CliOutcome, setUpDesk, startCli } from "./support/run-cli.ts";

const MODEL = "gpt-5.5";

const QWEN_DIALECTS = { openai: "chat", "openai-responses": "responses", anthropic: "messages" } as const;

async function setUp(authType: keyof typeof QWEN_DIALECTS) {
  const { start, trace } = await setUpGateway();
  const { url } = await start();
  const desk = setUpDesk();
  const run = (prompt: string) =>
    startCli("qwen", ["--auth-type", authType, "--model", MODEL, "--yolo", "-o", "stream-json", prompt], desk, {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_MODEL: MODEL,
      ANTHROPIC_API_KEY: KEY,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_MODEL: MODEL,
    }).outcome;
  return { desk, trace, run };
}

const textOf = ({ events }: CliOutcome): string =>
  String(events.findLast(({ type }) => type === "result")?.["result"] ?? "");

describe.each(["openai", "openai-responses"] as const)("Qwen Code as %s", (authType) => {
  it(
    "runs a command, writes a file, and goes on with the results on the same stream",
    proves("qwen-code", QWEN_DIALECTS[authType], "stream", "tools", "parallel", "rounds"),
    async () => {
      const { desk, run } = await setUp(authType);
      const file = join(desk.folder, "made.txt");
      const outcome = await run(
        `@sim need run_shell_command ;; call run_shell_command {"command":"echo shown","is_background":false} ;; call write_file {"file_path":"${file}","content":"made\\n"} ;; wait ;; call run_shell_command {"command":"echo again","is_background":false} ;; say {{result.0}} {{result.2}} {{reused}}`,
      );
      expect(outcome.code).toBe(0);
      expect(readFileSync(file, "utf8")).toBe("made\n");
      expect(textOf(outcome)).toMatch(/shown[\s\S]*again[\s\S]* stream$/);
    },
  );

  it("is asked for what the model wants of Cursor's own tools", async () => {
    const { desk, trace, run } = await setUp(authType);
    const { folder } = desk;
    writeFileSync(join(folder, "there.txt"), "found\nmore\n");
    const outcome = await run(
      `@sim need run_shell_command ;; exec shell {"command":"echo native"} ;; exec read {"path":"${folder}/there.txt"} ;; exec write {"path":"${folder}/new.txt","fileText":"new\\n"} ;; exec ls {"path":"${folder}"} ;; exec grep {"pattern":"found","path":"${folder}"} ;; say {{result.0}}|{{result.1}}|{{result.2}}|{{result.3}}|{{result.4}}`,
    );
    const [shell, file, written, listing, matches] = textOf(outcome).split("|");
    expect(shell).toContain("native");
    expect(file).toMatch(/^found\nmore\n*$/);
    expect(written).toContain("new.txt");
    expect(readFileSync(join(folder, "new.txt"), "utf8")).toBe("new\n");
    expect(listing).toContain("there.txt");
    expect(matches).toContain("there.txt:1:found");
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });
});

describe.each(["openai", "openai-responses", "anthropic"] as const)("Qwen Code as %s", (authType) => {
  it(
    "shows what was thought, once",
    proves("qwen-code", QWEN_DIALECTS[authType], "stream", "tools", "thinking"),
    async () => {
      const { run } = await setUp(authType);
      const outcome = await run(
        '@sim need run_shell_command ;; think let me see ;; call run_shell_command {"command":"true","is_background":false} ;; think I have seen ;; say done',
      );
      const shown = outcome.events.flatMap(({ type, message }) =>
        type === "assistant" ? (message as { content: readonly { thinking?: string }[] }).content : [],
      );
      expect(shown.flatMap(({ thinking }) => thinking ?? [])).toEqual(["let me see", "I have seen"]);
      expect(textOf(outcome)).toBe("done");
    },
  );
});
