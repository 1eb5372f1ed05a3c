import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { type CliOutcome, setUpDesk, startCli } from "./support/run-cli.ts";

/** OpenCode has a provider for each dialect, and lets models of some names write by patch. */
const DIALECTS = {
  chat: {
    npm: "@ai-sdk/openai-compatible",
    model: "composer-2.5",
    write: (path: string) => `call write ${JSON.stringify({ filePath: path, content: "made\n" })}`,
  },
  responses: {
    npm: "@ai-sdk/openai",
    model: "gpt-5.5",
    write: (path: string) => {
      const patchText = `*** Begin Patch\n*** Add File: ${path}\n+made\n*** End Patch`;
      return `call apply_patch ${JSON.stringify({ patchText })}`;
    },
  },
} as const;

const config = (baseURL: string, { npm, model }: { readonly npm: string; readonly model: string }, apiKey: string) => ({
  model: `excursor/${model}`,
  small_model: `excursor/${model}`,
  share: "disabled",
  autoupdate: false,
  permission: { "*": "allow" },
  provider: {
    excursor: {
      npm,
      options: { baseURL, apiKey },
      models: {
        [model]: { tool_call: true, reasoning: true, attachment: true, limit: { context: 200_000, output: 8192 } },
      },
    },
  },
});

interface RunOptions {
  readonly key?: string;
  readonly flags?: readonly string[];
}

async function setUp(dialect: keyof typeof DIALECTS) {
  const { start, trace } = await setUpGateway();
  const { url } = await start();
  const desk = setUpDesk();
  const begin = (prompt: string, { key = KEY, flags: more = [] }: RunOptions = {}) => {
    const settings = config(`${url}/v1`, DIALECTS[dialect], key);
    writeFileSync(join(desk.folder, "opencode.json"), JSON.stringify(settings));
    const flags = ["run", "--pure", "--format", "json", "--thinking", "--title", "t", ...more, prompt];
    return startCli("opencode", flags, desk, {
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    });
  };
  return { desk, trace, begin, run: (prompt: string, options?: RunOptions) => begin(prompt, options).outcome };
}

const partsOf = ({ events }: CliOutcome, type: string) =>
  events.flatMap((event) => (event["type"] === type ? [event["part"] as { readonly text?: string }] : []));

const textOf = (outcome: CliOutcome): string =>
  partsOf(outcome, "text")
    .map(({ text = "" }) => text)
    .join("\n");

describe.each(["chat", "responses"] as const)("OpenCode over %s", (dialect) => {
  it(
    "thinks, runs a command, writes a file, and goes on with the results on the same stream",
    proves("opencode", dialect, "stream", "tools", "parallel", "thinking"),
    async () => {
      const { desk, trace, run } = await setUp(dialect);
      const file = join(desk.folder, "made.txt");
      const outcome = await run(
        `@sim need bash ;; think let me see ;; call bash {"command":"echo shown"} ;; ${DIALECTS[dialect].write(file)} ;; say {{result.0}} {{reused}}`,
      );
      expect([outcome.code, outcome.stderr]).toEqual([0, ""]);
      // Once, although Chat Completions says it in two fields.
      expect(partsOf(outcome, "reasoning").map(({ text }) => text)).toEqual(["let me see"]);
      expect(readFileSync(file, "utf8")).toBe("made\n");
      expect(textOf(outcome)).toMatch(/^shown\n+ ?stream$/);
      expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    },
  );

  it("takes its question with it when it is stopped", proves("opencode", dialect, "abort"), async () => {
    const { begin, trace } = await setUp(dialect);
    const { child, outcome } = begin("@sim need bash ;; say a ;; silent 120000");
    await expect.poll(() => trace.some(({ kind }) => kind === "text_delta"), { timeout: 60_000 }).toBe(true);
    child.kill("SIGINT");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 10_000 }).toBe(true);
  });
});

it("OpenCode edits a file thirty times on one stream, and continues from the checkpoint", async () => {
  const { desk, trace, run } = await setUp("chat");
  const filePath = join(desk.folder, "count.txt");
  writeFileSync(filePath, "<0>");
  const edits = Array.from({ length: 30 }, (_, n) => {
    const args = { filePath, oldString: `<${n}>`, newString: `<${n + 1}>` };
    return ` ;; wait ;; call edit ${JSON.stringify(args)}`;
  });
  const read = `call read ${JSON.stringify({ filePath })}`;
  const outcome = await run(`@sim need edit ;; ${read}${edits.join("")} ;; say done: {{reused}}`);
  expect(textOf(outcome), outcome.stderr).toBe("done: stream");
  expect(readFileSync(filePath, "utf8")).toBe("<30>");
  expect(textOf(await run("@sim say {{reused}}", { flags: ["--continue"] }))).toBe("checkpoint");
  expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
});

it(
  "OpenCode is asked for what the model wants of Cursor's own tools",
  proves("opencode", "chat", "rounds"),
  async () => {
    const { desk, trace, run } = await setUp("chat");
    const { folder } = desk;
    writeFileSync(join(folder, "there.txt"), "found\nmore\n");
    const outcome = await run(
      `@sim need bash ;; exec shell {"command":"echo native"} ;; exec read {"path":"${folder}/there.txt"} ;; exec write {"path":"${folder}/new.txt","fileText":"new\\n"} ;; exec ls {"path":"${folder}"} ;; wait ;; exec delete {"path":"${folder}/there.txt"} ;; say {{result.0}}|{{result.1}}|{{result.2}}|{{result.3}}|{{result.4}}`,
    );
    const [shell, file, written, listing, deleted] = textOf(outcome).split("|");
    expect(shell).toMatch(/^native\n*$/);
    expect(file).toMatch(/^found\nmore\n*$/);
    expect(written).toContain("new.txt");
    expect(readFileSync(join(folder, "new.txt"), "utf8")).toBe("new\n");
    expect(listing).toContain("there.txt");
    expect(deleted).toContain("deleted");
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  },
);

it("OpenCode says why it was refused", proves("opencode", "chat", "errors"), async () => {
  const { run } = await setUp("chat");
  const { stdout } = await run("@sim say hi", { key: "wrong" });
  expect(stdout).toContain("401");
});
