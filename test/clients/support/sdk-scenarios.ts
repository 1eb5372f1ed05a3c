import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentSettings, type RunOutcome, SdkProcess } from "./sdk-process.ts";

/** Where a scenario takes place. Two places with the same folders give the same results, if the backend says the same. */
export interface Scene {
  readonly url: string;
  /** Of the client. */
  readonly home: string;
  readonly cwd: string;
  readonly sdk: SdkProcess;
  /** A page of the internet. */
  readonly page: string;
}

const RETRIES: AgentSettings = { local: { enableAgentRetries: true } };
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

async function newAgent({ sdk, cwd }: Scene, options: AgentSettings = {}): Promise<string> {
  const name = randomUUID();
  await sdk.create(name, { ...options, local: { cwd, ...options.local } });
  return name;
}

const ask =
  (prompt: string, options?: AgentSettings) =>
  async (scene: Scene): Promise<unknown> =>
    seen(await scene.sdk.send(await newAgent(scene, options), prompt));

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

/** What a user sees of a run, without ids. */
export function seen({ status, error, usage, text, thinking, messages }: RunOutcome): unknown {
  const shown = messages.map(({ type, name, status: state, args, result }) => ({ type, name, state, args, result }));
  return JSON.parse(JSON.stringify({ status, error, usage, text, thinking, shown }).replaceAll(UUID, "(id)"));
}

/** Everything that the official client does in `cursor-sdk.test.ts`, and what came of it. */
export const SCENARIOS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  async "lists models, says who is logged in"({ sdk }) {
    // Captures have no e-mail addresses.
    const { userEmail: _, ...me } = await sdk.me();
    return [await sdk.models(), me];
  },
  text: ask(String.raw`@sim say hello wide\nworld`),
  "two thousand tokens": ask("@sim tokens 2000 0"),
  thinking: ask("@sim think let me see ;; say ok"),
  "an echo": ask("What is this?"),
  "a custom tool": ask('@sim call look {"at":"x"} ;; say {{tools}}: {{result}} ({{reused}})'),
  "two parallel tools, answered out of order": ask(
    '@sim call slow {"ms":400,"text":"one"} ;; call slow {"ms":1,"text":"two"} ;; say {{result.0}}, {{result.1}}',
  ),
  "a tool that throws": ask("@sim call boom {} ;; say it said {{result}}"),

  async "several turns, also in another process"(scene) {
    const { sdk, cwd, home, url } = scene;
    const agentId = await sdk.create("keeper", { local: { cwd } });
    const results: unknown[] = [];
    for (const prompt of ["@sim think hm ;; say first {{reused}}", '@sim call look {"at":"y"} ;; say second']) {
      results.push(seen(await sdk.send("keeper", prompt)));
    }
    const third = String.raw`@sim say {{reused}}\n{{history}}`;
    results.push(seen(await sdk.send("keeper", third)));
    await using other = new SdkProcess({ url, home });
    await other.resume("again", agentId, { model: { id: "composer-2.5" }, local: { cwd } });
    return [...results, seen(await other.send("again", third))];
  },

  async "an image, a system prompt, model parameters"(scene) {
    const model = { id: "claude-opus-4-8", params: [{ id: "effort", value: "low" }] };
    const agent = await newAgent(scene, { model, systemPrompt: "Be brief." });
    const images = [{ data: PNG.toString("base64"), mimeType: "image/png" }];
    const text = String.raw`@sim say {{images}}\n{{system}}\n{{model}}`;
    return seen(await scene.sdk.send(agent, { text, images }));
  },

  usage: ask("@sim usage 100 20 30 ;; say counted"),
  "no usage": ask("@sim fault no-usage ;; say free"),

  async "a cancel in the middle of the text"(scene) {
    const agent = await newAgent(scene);
    let cancelled: Promise<unknown> | undefined;
    const { status } = await scene.sdk.send(agent, "@sim tokens 500 20", ({ type }) => {
      if (type === "assistant") cancelled ??= scene.sdk.cancel(agent);
    });
    await cancelled;
    // How much of the text came before the cancel is a matter of time.
    return [status, seen(await scene.sdk.send(agent, "@sim say still here"))];
  },

  async "a cancel with a tool pending"(scene) {
    const agent = await newAgent(scene);
    const called = scene.sdk.toolCalled("hang");
    const running = scene.sdk.send(agent, "@sim call hang {} ;; say never");
    await called;
    await scene.sdk.cancel(agent);
    return seen(await running);
  },

  "an error": ask("@sim say a ;; fail resource_exhausted too much"),
  "an error with details": ask('@sim fail resource_exhausted ERROR_RATE_LIMITED title="Slow down" You are too quick'),
  "an error of HTTP": ask("@sim fail http=503"),

  async "a key that is none"({ url, home }) {
    await using sdk = new SdkProcess({ url, home, apiKey: "invalid-key" });
    return sdk.me().catch(({ name, message, status }) => ({ name, message, status }));
  },

  "a stream that drops": ask('@sim say one ;; call look {"at":"z"} ;; fault rst ;; say and two, {{reused}}', RETRIES),
  ...Object.fromEntries(
    ["goaway", "tcp-reset", "truncate", "end-without-turn-ended"].map((fault) => [
      `a stream that drops by ${fault}`,
      ask(`@sim say one, ${fault} ;; fault ${fault} ;; say \\ntwo`, RETRIES),
    ]),
  ),
  ...Object.fromEntries(
    ["rst", "rst code=8", "refused", "tcp-reset", "truncate", "garbage"].map((fault) => [
      `${fault} without retries`,
      ask(`@sim say alone, ${fault} ;; fault ${fault} ;; say two`),
    ]),
  ),
  "an error that passes": ask("@sim fail unavailable times=1 not now ;; say now", RETRIES),
  ...Object.fromEntries(
    ["gzip", "split", "late-checkpoint", "dup-frame"].map((fault) => [
      `an oddity: ${fault}`,
      ask(`@sim fault ${fault} ;; call look {"at":"o"} ;; say {{result}}`),
    ]),
  ),

  async steering(scene) {
    const agent = await newAgent(scene);
    let steered: Promise<unknown> | undefined;
    const outcome = await scene.sdk.send(agent, "@sim tokens 30 20", ({ type }) => {
      if (type === "assistant") steered ??= scene.sdk.steer(agent, "@sim say and turned");
    });
    return [seen(outcome), await steered];
  },

  "silence longer than a heartbeat": ask("@sim silent 6000 ;; say awake"),

  async "its own tools, in its own folder"(scene) {
    const { sdk, cwd, page } = scene;
    const agent = await newAgent(scene);
    rmSync(cwd, { recursive: true, force: true });
    mkdirSync(join(cwd, "sub"), { recursive: true });
    writeFileSync(join(cwd, "a.txt"), "alpha\nbeta\n");
    writeFileSync(join(cwd, "sub", "b.ts"), "export const beta = 1;\n");
    // A search lists the newest first.
    utimesSync(join(cwd, "sub", "b.ts"), 1, 1);
    const shell = `{"command":"echo out && cat a.txt | head -1","workingDirectory":"${cwd}"}`;
    const results: unknown[] = [];
    for (const step of [
      `read {"path":"${cwd}/a.txt"}`,
      `read {"path":"${cwd}/none.txt"}`,
      `ls {"path":"${cwd}"}`,
      `grep {"pattern":"beta","path":"${cwd}","outputMode":"content"}`,
      `write {"path":"${cwd}/new.txt","fileText":"written"}`,
      `delete {"path":"${cwd}/new.txt"}`,
      `shell_stream ${shell}`,
      `shell ${shell}`,
      `shell_stream {"command":"exit 3","workingDirectory":"${cwd}"}`,
      `diagnostics {"path":"${cwd}/sub/b.ts"}`,
      `fetch {"url":"${page}"}`,
      "#99",
    ]) {
      results.push([step, seen(await sdk.send(agent, `@sim exec ${step} ;; say {{result}}`))]);
    }
    return results;
  },

  async "two of its own tools at once"(scene) {
    const run = (command: string) => `exec shell_stream {"command":"${command}","workingDirectory":"${scene.cwd}"}`;
    return ask(`@sim ${run("sleep 0.5; echo one")} ;; ${run("echo two")} ;; say {{result.0}}{{result.1}}`)(scene);
  },

  "a question that it approves": ask(
    '@sim ask {"webSearchRequestQuery":{"args":{"searchTerm":"x"}}} ;; say {{result}}',
  ),
  "a question that it declines": ask(
    '@sim ask {"askQuestionInteractionQuery":{"args":{"title":"Which?","questions":[{"id":"q","prompt":"Which?"}]}}} ;; say {{result}}',
  ),

  async "many runs in a row"(scene) {
    const agent = await newAgent(scene);
    const results: unknown[] = [];
    for (let n = 0; n < 24; n++) results.push(seen(await scene.sdk.send(agent, `@sim say run ${n}`)));
    return results;
  },

  async "many runs at once"(scene) {
    const names = await Promise.all(Array.from({ length: 8 }, () => newAgent(scene)));
    const script = '@sim call slow {"ms":50,"text":"x"} ;; tokens 50 2';
    return Promise.all(names.map(async (name) => seen(await scene.sdk.send(name, script))));
  },
};
