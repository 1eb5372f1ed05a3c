import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { type CliOutcome, type Desk, setUpDesk, startCli } from "./support/run-cli.ts";

/** The smallest there is: one pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Carrier = "HTTP" | "a WebSocket";

const config = (url: string, model: string, carrier: Carrier) => `
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
supports_websockets = ${carrier === "a WebSocket"}
`;

interface Options {
  readonly model?: string;
  readonly key?: string;
  readonly args?: readonly string[];
  /** Where the gateway is. */
  readonly url?: string;
}

/** Codex picks its tools by the model's name; these are names that the gateway knows, one of them by a setting. */
async function setUpCodex(carrier: Carrier, environment: Readonly<Record<string, string>> = {}) {
  const { start, trace } = await setUpGateway({}, environment);
  const gateway = await start();
  const desk = setUpDesk();
  const begin = (prompt: string, { model = "auto", key = KEY, args = [], url = gateway.url }: Options = {}) => {
    writeFileSync(join(desk.home, "config.toml"), config(url, model, carrier));
    return startCli("codex", ["exec", "--json", "--skip-git-repo-check", prompt, ...args], desk, {
      CODEX_HOME: desk.home,
      EXCURSOR_KEY: key,
    });
  };
  /** The requests of a model, by what carried them. */
  const carriers = () =>
    new Set(
      gateway
        .log()
        .split("\n")
        .flatMap((line) => {
          const { method, model } = line === "" ? {} : (JSON.parse(line) as { method?: string; model?: string });
          return model === undefined || method === undefined ? [] : [method === "MESSAGE" ? "a WebSocket" : "HTTP"];
        }),
    );
  return {
    desk,
    trace,
    gateway,
    begin,
    carriers,
    run: (prompt: string, options?: Options) => begin(prompt, options).outcome,
  };
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

const CODEX_DIALECTS = { HTTP: "responses", "a WebSocket": "websocket" } as const;

describe.each(["HTTP", "a WebSocket"] as const)("Codex over %s", (carrier) => {
  const setUp = () => setUpCodex(carrier);

  it(
    "thinks, runs a command in its shell, and goes on with the result on the same stream",
    proves("codex", CODEX_DIALECTS[carrier], "stream", "tools", "thinking", "usage"),
    async () => {
      const { desk, trace, run, carriers } = await setUp();
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
      expect(carriers()).toEqual(new Set([carrier]));
      expect(outcome.events.at(-1)).toMatchObject({
        type: "turn.completed",
        usage: { output_tokens: expect.any(Number) },
      });
    },
  );

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

  it("patches a file thirty times on one stream, and continues from the checkpoint", async () => {
    const { desk, trace, run } = await setUp();
    writeFileSync(join(desk.folder, "count.txt"), "0\n");
    const patches = Array.from({ length: 30 }, (_, n) => {
      const input = `*** Begin Patch\n*** Update File: count.txt\n@@\n-${n}\n+${n + 1}\n*** End Patch\n`;
      return `call apply_patch ${JSON.stringify({ input })}`;
    });
    const prompt = `@sim need apply_patch ;; ${patches.join(" ;; wait ;; ")} ;; say done: {{reused}}`;
    const first = await run(prompt, { model: "gpt-5.5" });
    expect(textOf(first), first.stderr).toBe("done: stream");
    expect(read(desk, "count.txt")).toBe("30\n");
    const next = await run("resume", { model: "gpt-5.5", args: ["--last", "@sim say {{reused}}"] });
    expect(textOf(next), next.stderr).toBe("checkpoint");
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(2);
  });

  it(
    "makes two calls at once, and is asked for what the model wants of Cursor's own tools",
    proves("codex", CODEX_DIALECTS[carrier], "parallel", "rounds"),
    async () => {
      const { desk, trace, run } = await setUp();
      writeFileSync(join(desk.folder, "there.txt"), "found\n");
      const parallel = await run(
        '@sim need exec_command ;; call exec_command {"cmd":"echo one"} ;; call exec_command {"cmd":"echo two"} ;; wait ;; call exec_command {"cmd":"echo three"} ;; say {{result.0}}|{{result.1}}|{{result.2}}|{{reused}}',
      );
      expect(textOf(parallel)).toMatch(/one\n\|(?:.*\n)*two\n\|(?:.*\n)*three\n\|stream$/);
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
    },
  );

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

  it(
    "shows the model an image, and gets the structured answer it asks for",
    proves("codex", CODEX_DIALECTS[carrier], "images", "structured"),
    async () => {
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
    },
  );

  it(
    "says why it was refused, and waits as it was told",
    proves("codex", CODEX_DIALECTS[carrier], "errors"),
    async () => {
      const { run, trace } = await setUp();
      const refused = await run("@sim say hi", { key: "wrong" });
      expect(refused.code).toBe(1);
      expect(refused.stdout).toMatch(/401|key/i);
      const patient = await run(
        "@sim fail resource_exhausted ERROR_RATE_LIMITED retry=1 times=1 You are too quick ;; say at last",
      );
      expect([textOf(patient), patient.code]).toEqual(["at last", 0]);
      expect(trace.filter(({ kind }) => kind === "run_request").length).toBeGreaterThanOrEqual(2);
    },
  );

  it("lets go of the backend when it is interrupted", proves("codex", CODEX_DIALECTS[carrier], "abort"), async () => {
    const { begin, trace } = await setUp();
    const { child, outcome } = begin("@sim say a ;; silent 60000");
    await expect.poll(() => trace.some(({ kind }) => kind === "run_request"), { timeout: 20_000 }).toBe(true);
    child.kill("SIGINT");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 5000 }).toBe(true);
  });
});

describe("Codex over a WebSocket", () => {
  it("warms up before it asks, and the backend hears of the question alone", async () => {
    const { run, trace } = await setUpCodex("a WebSocket");
    expect(textOf(await run("@sim say ready"))).toBe("ready");
    expect(trace.filter(({ kind }) => /^(?:prewarm|run)_request$/.test(kind)).map(({ kind }) => kind)).toEqual([
      "run_request",
    ]);
  });

  it("reconnects during a tool call, and goes on with the same run", async () => {
    // The relay has another port.
    const { desk, begin, gateway, carriers } = await setUpCodex("a WebSocket", { EXCURSOR_HOSTS: "127.0.0.1" });
    const relay = await startRelay(gateway.url);
    const { outcome } = begin(
      '@sim need exec_command ;; call exec_command {"cmd":"touch cut; while [ ! -e go ]; do sleep 0.05; done; echo gone on"} ;; say {{result}} {{reused}}',
      { url: relay.url },
    );
    await expect.poll(() => existsSync(join(desk.folder, "cut")), { timeout: 20_000 }).toBe(true);
    relay.cut();
    writeFileSync(join(desk.folder, "go"), "");
    expect(textOf(await outcome)).toMatch(/gone on\n stream$/);
    expect(relay.connections()).toBe(2);
    expect(carriers()).toEqual(new Set(["a WebSocket"]));
  });

  it("falls back to HTTP at once where the gateway has it switched off", async () => {
    const { run, carriers, trace } = await setUpCodex("a WebSocket", { EXCURSOR_WEBSOCKET: "off" });
    const outcome = await run("@sim say by HTTP");
    expect([textOf(outcome), outcome.code]).toEqual(["by HTTP", 0]);
    expect(carriers()).toEqual(new Set(["HTTP"]));
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(1);
  });
});

/** Passes connections on, and can cut them. */
async function startRelay(to: string) {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((near) => {
    count++;
    const far = createConnection(Number(new URL(to).port), "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {}).on("close", () => other.destroy());
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
    open.clear();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, cut, connections: () => count };
}
