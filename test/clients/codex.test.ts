import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { type CliOutcome, type Desk, setUpDesk, startCli } from "./support/run-cli.ts";

/** The smallest there is: one pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const config = (url: string, model: string) => `
model = "${model}"
model_provider = "excursor"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
model_reasoning_summary = "auto"
[analytics]
enabled = false
[model_providers.excursor]
name = "Excursor"
base_url = "${url}/v1"
env_key = "EXCURSOR_KEY"
wire_api = "responses"
`;

interface Options {
  readonly model?: string;
  readonly key?: string;
  readonly args?: readonly string[];
}

/** Codex picks its tools by the model's name; these are names that the gateway knows, one of them by a setting. */
async function setUp() {
  const { start, trace } = await setUpGateway();
  const gateway = await start();
  const desk = setUpDesk();
  const begin = (prompt: string, { model = "auto", key = KEY, args = [] }: Options = {}) => {
    writeFileSync(join(desk.home, "config.toml"), config(gateway.url, model));
    return startCli("codex", ["exec", "--json", "--skip-git-repo-check", prompt, ...args], desk, {
      CODEX_HOME: desk.home,
      EXCURSOR_KEY: key,
    });
  };
  return { desk, trace, begin, run: (prompt: string, options?: Options) => begin(prompt, options).outcome };
}

interface Item {
  readonly type: string;
  readonly text?: string;
  readonly command?: string;
  readonly aggregated_output?: string;
}

const items = ({ events }: CliOutcome): readonly Item[] =>
  events.flatMap(({ type, item }) => (type === "item.completed" ? [item as Item] : []));

const textOf = (outcome: CliOutcome): string =>
  items(outcome)
    .flatMap(({ type, text }) => (type === "agent_message" ? [text] : []))
    .join("\n");

const read = ({ folder }: Desk, name: string): string => readFileSync(join(folder, name), "utf8");

afterEach(() => void vi.unstubAllEnvs());

describe("Codex", () => {
  it("thinks, runs a command in its shell, and goes on with the result on the same stream", async () => {
    const { desk, trace, run } = await setUp();
    const outcome = await run(
      '@sim need exec_command ;; think let me see ;; call exec_command {"cmd":"echo shown; echo written > out.txt"} ;; say got {{result}} {{reused}}',
    );
    expect(outcome.code).toBe(0);
    expect(items(outcome)).toContainEqual(expect.objectContaining({ type: "reasoning", text: "let me see" }));
    expect(items(outcome)).toContainEqual(
      expect.objectContaining({ type: "command_execution", aggregated_output: "shown\n" }),
    );
    expect(textOf(outcome)).toMatch(/^got (?:.*\n)*shown\n stream$/);
    expect(read(desk, "out.txt")).toBe("written\n");
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
    expect(outcome.events.at(-1)).toMatchObject({
      type: "turn.completed",
      usage: { output_tokens: expect.any(Number) },
    });
  });

  it("writes a file with its custom tool, apply_patch", async () => {
    const { desk, run } = await setUp();
    const patch = "*** Begin Patch\\n*** Add File: made.txt\\n+made by a patch\\n*** End Patch\\n";
    const outcome = await run(`@sim need apply_patch ;; call apply_patch {"input":"${patch}"} ;; say {{reused}}`, {
      model: "gpt-5.5",
    });
    expect(items(outcome)).toContainEqual(expect.objectContaining({ type: "file_change" }));
    expect(read(desk, "made.txt")).toBe("made by a patch\n");
    expect(textOf(outcome)).toBe("stream");
  });

  it("makes two calls at once, and is asked for what the model wants of Cursor's own tools", async () => {
    const { desk, trace, run } = await setUp();
    writeFileSync(join(desk.folder, "there.txt"), "found\n");
    const parallel = await run(
      '@sim need exec_command ;; call exec_command {"cmd":"echo one"} ;; call exec_command {"cmd":"echo two"} ;; say {{result.0}}|{{result.1}}|{{reused}}',
    );
    expect(textOf(parallel)).toMatch(/one\n\|(?:.*\n)*two\n\|stream$/);
    const native = await run(
      `@sim need apply_patch ;; exec shell {"command":"echo native"} ;; exec read {"path":"${desk.folder}/there.txt"} ;; exec write {"path":"${desk.folder}/new.txt","fileText":"new\\n"} ;; exec ls {"path":"${desk.folder}"} ;; exec grep {"pattern":"found","path":"${desk.folder}"} ;; say {{result.0}}|{{result.1}}|{{result.2}}|{{result.3}}|{{result.4}}`,
      { model: "gpt-5.5" },
    );
    const [shell, file, written, listing, matches] = textOf(native).split("|");
    expect([shell, file]).toEqual(["native\n", "found\n"]);
    expect(written).toContain("new.txt");
    expect(read(desk, "new.txt")).toBe("new\n");
    expect(listing).toContain("there.txt");
    expect(matches).toContain("there.txt:1:found");
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });

  it("has its script tool called, which comes in a namespace of an additional_tools item, and reports as it goes", async () => {
    // A name by which Codex sends nothing else.
    vi.stubEnv("EXCURSOR_MODELS", "gpt-6-astra=gpt-5.5");
    const { desk, run } = await setUp();
    const script =
      'notify("begun"); const ran = await tools.exec_command({cmd: "echo lite > lite.txt; echo ran"}); text(ran.output)';
    const outcome = await run(
      `@sim need exec ;; call exec ${JSON.stringify({ input: script })} ;; say {{result}} {{reused}}`,
      {
        model: "gpt-6-astra",
      },
    );
    expect(read(desk, "lite.txt")).toBe("lite\n");
    for (const said of [/\nran\n/, /begun/, / stream$/]) expect(textOf(outcome)).toMatch(said);
  });

  it("runs what the model wants of Cursor's own tools by a script, where it has no other shell", async () => {
    vi.stubEnv("EXCURSOR_MODELS", "gpt-6-astra=gpt-5.5");
    const { desk, run } = await setUp();
    const outcome = await run(
      `@sim need exec ;; exec shell {"command":"echo native > made.txt; echo shown; exit 3"} ;; exec read {"path":"${desk.folder}/made.txt"} ;; say {{result.0}}|{{result.1}}|{{reused}}`,
      { model: "gpt-6-astra" },
    );
    expect(read(desk, "made.txt")).toBe("native\n");
    expect(textOf(outcome)).toBe("shown\n[exit 3]|native\n|stream");
  });

  it("shows the model an image, and gets the structured answer it asks for", async () => {
    const { desk, run } = await setUp();
    const image = join(desk.folder, "pixel.png");
    writeFileSync(image, Buffer.from(PNG, "base64"));
    expect(textOf(await run("@sim say {{images}}", { args: ["-i", image] }))).toMatch(/^1 image\/png:\d+$/);
    const schema = join(desk.folder, "schema.json");
    writeFileSync(
      schema,
      JSON.stringify({
        type: "object",
        properties: { answer: { type: "number" } },
        required: ["answer"],
        additionalProperties: false,
      }),
    );
    const structured = await run('@sim say {"answer": 42}', { args: ["--output-schema", schema] });
    expect(JSON.parse(textOf(structured))).toEqual({ answer: 42 });
  });

  it("says why it was refused, and waits as it was told", async () => {
    const { run, trace } = await setUp();
    const refused = await run("@sim say hi", { key: "wrong" });
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/401|key/i);
    const patient = await run(
      "@sim fail resource_exhausted ERROR_RATE_LIMITED retry=1 times=1 You are too quick ;; say at last",
    );
    expect([textOf(patient), patient.code]).toEqual(["at last", 0]);
    expect(trace.filter(({ kind }) => kind === "run_request").length).toBeGreaterThanOrEqual(2);
  });

  it("lets go of the backend when it is interrupted", async () => {
    const { begin, trace } = await setUp();
    const { child, outcome } = begin("@sim say a ;; silent 60000");
    await expect.poll(() => trace.some(({ kind }) => kind === "run_request"), { timeout: 20_000 }).toBe(true);
    child.kill("SIGINT");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 5000 }).toBe(true);
  });
});
