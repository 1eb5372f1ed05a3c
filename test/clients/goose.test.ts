import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { goose } from "../../src/client-config/recipes/goose.ts";
import { Secret } from "../../src/core/secret.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";
import { proves } from "./matrix/proof.ts";
import { type CliOutcome, homeOf, setUpDesk, startCli } from "./support/run-cli.ts";

/** Goose chooses the API by the model's name, whatever its configuration says. */
const MODELS = { chat: "composer-2.5", responses: "gpt-5.5" } as const;
const PATHS = { chat: "/v1/chat/completions", responses: "/v1/responses" } as const;

const COMMAND = "goose-binary-linux-x64";
const isInstalled = existsSync(join(CLIENTS_FOLDER, "node_modules/.bin", COMMAND));

async function setUp(model: string) {
  const { start, trace } = await setUpGateway();
  const { url, log } = await start();
  const desk = setUpDesk();
  const file = goose.file({ home: desk.home, platform: "linux", environment: homeOf(desk), exists: existsSync });
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, goose.edit("", { url, model, key: new Secret(KEY), models: [] }));
  const begin = (prompt: string, key = KEY) => {
    const args = ["run", "--no-session", "--with-builtin", "developer", "--output-format", "stream-json", "-t", prompt];
    return startCli(COMMAND, args, desk, { OPENAI_API_KEY: key, GOOSE_DISABLE_KEYRING: "1" });
  };
  return { desk, trace, log, begin, run: (prompt: string, key?: string) => begin(prompt, key).outcome };
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
}

const partsOf = ({ events }: CliOutcome): readonly Part[] =>
  events.flatMap(({ message }) => {
    const { role, content } = (message ?? {}) as { readonly role?: string; readonly content?: readonly Part[] };
    return role === "assistant" ? (content ?? []) : [];
  });

const textOf = (outcome: CliOutcome): string =>
  partsOf(outcome)
    .map(({ text = "" }) => text)
    .join("");

describe.runIf(isInstalled).each(["chat", "responses"] as const)("Goose over %s", (dialect) => {
  const did = ["stream", "tools", "parallel", "rounds", "thinking", "usage"] as const;

  it(
    "thinks, calls tools at once and again, and goes on on the same stream",
    proves("goose", dialect, ...did),
    async () => {
      const { desk, trace, log, run } = await setUp(MODELS[dialect]);
      const outcome = await run(
        '@sim need shell ;; think let me see ;; call shell {"command":"echo one"} ;; call shell {"command":"echo two > made.txt; echo two"} ;; wait ;; call shell {"command":"echo three"} ;; say {{result.0}} {{result.1}} {{result.2}} {{reused}}',
      );
      expect(outcome.code, outcome.stderr).toBe(0);
      expect(textOf(outcome).split(/\s+/)).toEqual(["one", "two", "three", "stream"]);
      expect(readFileSync(join(desk.folder, "made.txt"), "utf8")).toBe("two\n");
      expect(
        partsOf(outcome)
          .map(({ thinking = "" }) => thinking)
          .join(""),
      ).toBe("let me see");
      expect(outcome.events.at(-1)).toMatchObject({ type: "complete", output_tokens: expect.any(Number) });
      expect(log()).toContain(`"route":"${PATHS[dialect]}"`);
      expect(trace.filter(({ kind }) => kind === "violation")).toEqual([]);
    },
  );

  it("says why it was refused", proves("goose", dialect, "errors"), async () => {
    const { run } = await setUp(MODELS[dialect]);
    const { stdout, stderr } = await run("@sim say hi", "wrong");
    expect(stdout + stderr).toMatch(/401|API key/i);
  });

  it("takes its question with it when it is interrupted", proves("goose", dialect, "abort"), async () => {
    const { begin, trace } = await setUp(MODELS[dialect]);
    const { child, outcome } = begin("@sim need shell ;; say a ;; silent 60000");
    const isAsked = () =>
      trace.some(({ kind, message }) => kind === "text_delta" && JSON.stringify(message).includes('"a"'));
    await expect.poll(isAsked, { timeout: 60_000 }).toBe(true);
    child.kill("SIGINT");
    await outcome;
    await expect.poll(() => trace.some(isGivenUp), { timeout: 10_000 }).toBe(true);
  });
});
