import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { RECIPES } from "../../../src/client-config/recipes/index.ts";
import { SNIPPETS } from "../../../src/client-config/snippets.ts";
import { setUpGateway } from "../../gateway/support/gateway-process.ts";
import { sharedGateway } from "../../gateway/support/shared-gateway.ts";
import { excursor } from "../support/excursor.ts";

const KEY = "exc_a-key-for-tests-only-0123456789";
const cleanups: (() => unknown)[] = [];
let url = "";
let folder = "";

beforeAll(async () => {
  const { start } = await setUpGateway({}, {}, (cleanup) => cleanups.push(cleanup));
  ({ url } = await start());
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "excursor-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ONE_PER_DIALECT = [...new Map(RECIPES.map(({ id, dialect }) => [dialect, { id, dialect }])).values()];

const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  excursor(args, {
    environment: { EXCURSOR_HOME: join(folder, "excursor"), EXCURSOR_KEY: KEY, HOME: join(folder, "user"), ...more },
  }).exited;

describe("excursor connect and disconnect", () => {
  it.each(SNIPPETS)("$id: is printed, without the key", async ({ id }) => {
    const { code, stdout } = await run(["connect", id, "--url", url, "-m", "gpt-5.5"]);
    expect([code, stdout.includes(url), stdout.includes("gpt-5.5"), stdout.includes(KEY)]).toEqual([
      0,
      true,
      true,
      false,
    ]);
    const printed = JSON.parse((await run(["connect", id, "--url", url, "-m", "gpt-5.5", "--json"])).stdout);
    expect(printed).toEqual({ client: id, text: stdout });
  });

  it("every recipe is written, tried, shown, and put back", { timeout: 180_000 }, async () => {
    for (const { id, title } of RECIPES) {
      const connected = await run(["connect", id, "--url", url]);
      expect([connected.code, connected.stderr], id).toEqual([0, ""]);
      expect(connected.stdout).toContain(`${title} is connected.`);
      expect(connected.stdout.match(/^ok {2}/gm), id).toHaveLength(3);
    }
    const state = JSON.parse((await run(["connect", "--json"])).stdout) as { client: string; file: string | null }[];
    const files = RECIPES.map(({ id }) => [id, state.find(({ client }) => client === id)?.file ?? ""] as const);
    for (const [id, file] of files) expect(readFileSync(file, "utf8"), id).toContain(url);
    // The other way round: the first of two in one folder has made the folder, and takes it away.
    const restored = await run(["disconnect", ...files.map(([id]) => id).reverse()]);
    expect(restored.code).toBe(0);
    expect(restored.stdout.trimEnd().split("\n").reverse()).toEqual(
      files.map(([id, file]) => `${id}: ${file} was restored.`),
    );
    expect(existsSync(join(folder, "user"))).toBe(false);
  });

  it("cursor --private writes the variables of the Private Inference build", async () => {
    const { code, stdout } = await run(["connect", "cursor", "--private", "--url", url]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("cursor-agent-local")]);
    const file = join(folder, "user", "cursor-private.env");
    expect(readFileSync(file, "utf8")).toContain(`CURSOR_LOCAL_AGENT_BASE_URL=${url}/v1\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(["connect", "codex", "--private", "--url", url])).stderr).toContain("--private is for cursor");
  });

  it.each(ONE_PER_DIALECT)("--prove in the dialect $dialect: a tool with its result", async ({ id }) => {
    const { url, trace } = await sharedGateway({
      script: "@sim need reveal_word ;; say first ;; call reveal_word {} ;; say {{result.0}} ;; say {{reused}}",
    });
    const { code, stdout, stderr } = await run(["connect", id, "--url", url, "-m", "gpt-5.5", "--prove", "--json"]);
    expect([code, stderr]).toEqual([69, ""]);
    const { proofs, passed } = JSON.parse(stdout);
    expect(passed).toHaveLength(3);
    expect(proofs).toMatchObject([
      { proof: "tool", outcome: "proven" },
      { proof: "image", outcome: "failed", detail: expect.stringContaining("colour") },
      { proof: "thinking", outcome: "failed", detail: expect.stringContaining("thinking") },
    ]);
    // The result went to the run that waited for it.
    expect(trace.filter(({ kind }) => kind === "run_request")).toHaveLength(4);
    expect(existsSync(join(folder, "excursor", "connections", `${id}.json`))).toBe(true);
  });

  it("cursor --private writes the variables of the Private Inference build", async () => {
    const { code, stdout } = await run(["connect", "cursor", "--private", "--url", url]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("cursor-agent-local")]);
    const file = join(folder, "user", "cursor-private.env");
    expect(readFileSync(file, "utf8")).toContain(`CURSOR_LOCAL_AGENT_BASE_URL=${url}/v1\n`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(["connect", "codex", "--private", "--url", url])).stderr).toContain("--private is for cursor");
  });

  it.each(ONE_PER_DIALECT)("--prove in the dialect $dialect: an image and thinking", async ({ id }) => {
    const { url, trace } = await sharedGateway({ script: "@sim think hm ;; say the picture is Red, {{images}}" });
    const { code, stdout } = await run(["connect", id, "--url", url, "-m", "gpt-5.5", "--prove"]);
    expect(code).toBe(69);
    expect(stdout).toMatch(/^failed {2}tool: The model did not call the tool\.$/m);
    expect(stdout).toMatch(/^ok {2}image: /m);
    expect(stdout).toMatch(/^ok {2}thinking: /m);
    expect(stdout).toContain("is connected.");
    expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
  });

  it("--prove skips what the model cannot do, and is refused where nothing is configured", async () => {
    const { start } = await setUpGateway({
      script: "@sim need reveal_word ;; call reveal_word {} ;; say {{result.0}}",
    });
    const { url } = await start();
    const { data } = (await (
      await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
    ).json()) as { data: { id: string; reasoning: boolean; architecture: { input_modalities: string[] } }[] };
    const plain = data.find(
      ({ reasoning, architecture }) => !reasoning && !architecture.input_modalities.includes("image"),
    );
    const { code, stdout } = await run(["connect", "aider", "--url", url, "-m", plain?.id ?? "", "--prove"]);
    expect([code, stdout.match(/^skipped {2}\w+/gm)]).toEqual([0, ["skipped  image", "skipped  thinking"]]);
    const refused = await run(["connect", "openai-sdk", "--url", url, "--prove"]);
    expect([refused.code, refused.stderr]).toEqual([65, expect.stringContaining("--prove cannot be used")]);
    expect((await run(["connect", "emacs", "--prove"])).stderr).toContain("cannot configure");
  });

  it("what was there comes back byte for byte", async () => {
    const file = join(folder, "user", ".claude", "settings.json");
    mkdirSync(join(folder, "user", ".claude"), { recursive: true });
    const before = '{"env":{"A":"1"},   "hooks": {}}\r\n';
    writeFileSync(file, before);
    const { stdout } = await run(["connect", "claude-code", "--url", url, "-m", "claude-sonnet-5", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ client: "claude-code", file, passed: [{}, {}, {}] });
    expect(JSON.parse(readFileSync(file, "utf8")).env).toMatchObject({ A: "1", ANTHROPIC_MODEL: "claude-sonnet-5" });
    await run(["disconnect", "claude-code"]);
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("cursor: says what to do by hand, with a secret in the path and names that Cursor leaves alone", async () => {
    const { code, stdout } = await run(["connect", "cursor", "--url", url]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/cloudflared tunnel --url http:\/\/127\.0\.0\.1:\d+\n.*reject localhost/);
    const secret = /"pathSecret": "([\w-]{24,})"/.exec(stdout)?.[1];
    expect(stdout).toContain(`https://YOUR-TUNNEL/${secret}/tags-nonce/v1\n`);
    // The same one every time.
    expect((await run(["connect", "cursor", "--url", url])).stdout).toBe(stdout);
    expect(existsSync(join(folder, "excursor", "config.json"))).toBe(false);
    const names = stdout.split("add each model by name:")[1]?.split("\n")[0];
    expect(names).not.toContain("claude-");
    // These it has already.
    expect(names).toMatch(/\bopus, sonnet\b/);
    expect(stdout).not.toContain("need other names");
  });

  it("cursor: tries a tunnel, fails if the gateway does not answer through it, and sends no key in the clear", async () => {
    const opened = await run(["connect", "cursor", "--url", url, "--tunnel", url, "--json"], {
      EXCURSOR_PATH_SECRET: "a-path-secret-0123456789",
    });
    // This gateway has no secret, so nothing is there; the base URL is what would be asked.
    expect(JSON.parse(opened.stdout)).toMatchObject({
      client: "cursor",
      baseURL: `${url}/a-path-secret-0123456789/tags-nonce/v1`,
      isReached: false,
      writtenTo: null,
    });
    expect([opened.code, opened.stderr]).toEqual([69, expect.stringContaining(`does not answer through ${url}`)]);
    const plain = await run(["connect", "cursor", "--url", url, "--tunnel", "http://tunnel.example"]);
    expect([plain.code, plain.stderr]).toEqual([65, expect.stringContaining("expected an https URL")]);
  });

  it("cursor: writes the settings that a tunnel needs, keeps the others, and finds them the next time", async () => {
    const file = join(folder, "excursor", "config.json");
    mkdirSync(join(folder, "excursor"), { mode: 0o700 });
    writeFileSync(file, '{ "hosts": ["mine.lan"],\n  "logLevel": "warn" }', { mode: 0o644 });
    const tunnel = ["connect", "cursor", "--url", url, "--tunnel", "https://tunnel.invalid"];
    const shown = await run([...tunnel, "--no-write"]);
    expect([shown.code, readFileSync(file, "utf8")]).toEqual([69, expect.not.stringContaining("tunnel")]);
    const written = await run(tunnel);
    expect([written.code, written.stderr]).toEqual([69, expect.stringContaining("Restart the gateway")]);
    const settings = JSON.parse(readFileSync(file, "utf8"));
    expect(settings).toEqual({
      hosts: ["mine.lan", "tunnel.invalid"],
      logLevel: "warn",
      pathSecret: expect.stringMatching(/^[\w-]{24,}$/),
    });
    expect(shown.stdout).toContain(settings.pathSecret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file, "utf8");
    const again = await run([...tunnel, "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({
      baseURL: `https://tunnel.invalid/${settings.pathSecret}/tags-nonce/v1`,
      writtenTo: null,
    });
    expect(readFileSync(file, "utf8")).toBe(before);
    // The environment comes before the file: nothing is written that would have no effect.
    await run([...tunnel, "--tunnel", "https://other.invalid"], { EXCURSOR_HOSTS: "mine.lan" });
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  it("cursor: says so if the gateway answers through the tunnel", async () => {
    const { start } = await setUpGateway({}, { EXCURSOR_PATH_SECRET: "a-path-secret-0123456789" });
    const guarded = await start();
    const args = ["connect", "cursor", "--url", guarded.url, "--tunnel", guarded.url];
    const { code, stdout } = await run(args, { EXCURSOR_PATH_SECRET: "a-path-secret-0123456789" });
    expect([code, stdout]).toEqual([0, expect.stringContaining("ok  the gateway answers at")]);
  });

  it.each([
    ["claude-code", ".claude/settings.json", '{"env":{"A":"1"}}\r\n'],
    ["codex", ".codex/config.toml", 'approval_policy = "never"\n'],
    ["aider", ".aider.conf.yml", "auto-commits: false\n"],
  ])("%s: a byte order mark stays, and the rest is understood", async (client, name, text) => {
    const file = join(folder, "user", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `\ufeff${text}`);
    expect((await run(["connect", client, "--url", url])).code).toBe(0);
    const edited = readFileSync(file, "utf8");
    expect(edited.lastIndexOf("\ufeff")).toBe(0);
    expect(edited).toContain(url);
    await run(["disconnect", client]);
    expect(readFileSync(file, "utf8")).toBe(`\ufeff${text}`);
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, RegExp]>([
    ["a client that nobody knows", ["connect", "emacs"], {}, 65, /claude-code, opencode/],
    ["no gateway", ["connect", "aider", "--url", "http://127.0.0.1:2"], {}, 69, /No gateway answers/],
    ["a bad port", ["connect", "aider", "--url", "http://127.0.0.1:6000"], {}, 78, /port that fetch blocks/],
    ["a wrong key", ["connect", "aider", "--url", "URL"], { EXCURSOR_KEY: "a-wrong-key" }, 77, /API key/],
    ["a model that is none", ["connect", "aider", "--url", "URL", "-m", "gpt-9"], {}, 65, /gpt-9/],
    ["a port that nobody knows", ["connect", "aider"], { EXCURSOR_PORT: "0" }, 78, /The port is 0/],
    ["what is not connected", ["disconnect", "aider"], {}, 65, /not connected/],
  ])("%s: nothing is changed", async (_, args, environment, code, message) => {
    const outcome = await run(
      args.map((arg) => (arg === "URL" ? url : arg)),
      environment,
    );
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringMatching(message)]);
    expect(existsSync(join(folder, "user"))).toBe(false);
    expect(JSON.parse((await run(["connect", "--json"])).stdout)).not.toContainEqual(
      expect.objectContaining({ file: expect.any(String) }),
    );
  });

  it("a second try that fails leaves the first as it is", async () => {
    const file = join(folder, "user", ".aider.conf.yml");
    await run(["connect", "aider", "--url", url, "-m", "gpt-5.5"]);
    const before = readFileSync(file, "utf8");
    expect((await run(["connect", "aider", "--url", url, "-m", "gpt-9"])).code).toBe(65);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect((await run(["disconnect"])).code).toBe(0);
  });

  it("a configuration that cannot be read is left alone", async () => {
    const file = join(folder, "user", ".aider.conf.yml");
    mkdirSync(join(folder, "user"));
    writeFileSync(file, "a: [");
    const { code, stderr } = await run(["connect", "aider", "--url", url]);
    expect([code, stderr]).toEqual([78, expect.stringContaining("Nothing was changed")]);
    expect(stderr).toContain(`${file} cannot be read: `);
    expect(readFileSync(file, "utf8")).toBe("a: [");
  });

  it("one that has changed since keeps the change, unless the backup is asked for", async () => {
    const file = join(folder, "user", ".aider.conf.yml");
    await run(["connect", "aider", "--url", url]);
    writeFileSync(file, `${readFileSync(file, "utf8")}mine: 1\n`);
    expect((await run(["disconnect"])).stdout).toBe(`aider: ${file} was disconnected; its later changes stay.\n`);
    expect(readFileSync(file, "utf8")).toBe("mine: 1\n");
    rmSync(file);
    await run(["connect", "aider", "--url", url]);
    writeFileSync(file, "mine: 1\n");
    expect((await run(["disconnect", "--from-backup"])).code).toBe(0);
    expect([existsSync(file), readFileSync(`${file}.before-disconnect`, "utf8")]).toEqual([false, "mine: 1\n"]);
  });
});
