import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createDriver } from "../../src/app/create-driver.ts";
import { DRIVERS } from "../../src/app/drivers.ts";
import { type Config, loadConfig } from "../../src/app/load-config.ts";
import type { Driver } from "../../src/core/driver.ts";
import { Secret } from "../../src/core/secret.ts";
import type { DriverServices } from "../../src/drivers/shared/driver-module.ts";
import { startSim } from "../../src/sim/server.ts";
import {
  type Reply as AnthropicReply,
  errorBody as anthropicError,
  streamOf as anthropicStream,
  startAnthropicServer,
} from "../drivers/support/anthropic-server.ts";
import type { ApiCall } from "../drivers/support/api-server.ts";
import { replyJson } from "../drivers/support/api-server.ts";
import { driverServices } from "../drivers/support/driver-services.ts";
import {
  type Reply as OpenAiReply,
  errorBody as openAiError,
  streamOf as openAiStream,
  startOpenAiServer,
} from "../drivers/support/openai-server.ts";
import { type ResponsesReply, responseStream, startResponsesServer } from "../drivers/support/responses-server.ts";
import { type Behaviour, type DriverFixture, describeDriver } from "./driver.ts";

type Name = (typeof DRIVERS)[number]["name"];

/** The driver as the gateway creates it, with these settings beside the defaults. */
async function create(name: Name, settings: Partial<Config>, services: Partial<DriverServices> = {}): Promise<Driver> {
  const home = join(tmpdir(), "excursor-no-home");
  const { values } = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } });
  const module = DRIVERS.find((one) => one.name === name);
  if (!module) throw new Error(`no driver ${name}`);
  const names = { toUpstream: (id: string) => id, toClient: (id: string) => id };
  return createDriver(module, { ...values, ...settings }, driverServices(services), { name: "*", names });
}

/** Both of Cursor's protocols, in front of the simulator. */
const cursorFixture = (name: "cursor" | "cursor-legacy"): DriverFixture => ({
  callsTools: true,
  reportsUsage: name === "cursor",
  async setUp(behaviour) {
    const sim = await startSim({ legacy: "on" });
    onTestFinished(() => sim.close());
    const driver = await create(name, {}, { origin: sim.url });
    return { driver, model: "auto", question: SCRIPTS[behaviour], openAnswers: () => sim.stats().openRuns };
  },
});

const SCRIPTS: Readonly<Record<Behaviour, string>> = {
  text: "@sim say hello ;; say there",
  endless: "@sim say a ;; silent 60000",
  failing: "@sim fail resource_exhausted ERROR_RATE_LIMITED slow",
  calling: '@sim call look {"at":"x"} ;; say {{result}}',
};

/** Counts the answers that a server has begun and not finished. */
function countCalls() {
  let open = 0;
  const counted =
    <Response>(reply: (response: Response) => void) =>
    (call: ApiCall, response: Response) => {
      open++;
      void call.closed.then(() => open--);
      reply(response);
    };
  return { counted, openAnswers: () => open };
}

const STREAM = { "content-type": "text/event-stream" };

const anthropicFixture: DriverFixture = {
  callsTools: true,
  reportsUsage: true,
  async setUp(behaviour) {
    const { counted, openAnswers } = countCalls();
    const text = { blocks: [{ type: "text", text: "hello there" }] } as const;
    const replies: Readonly<Record<Behaviour, readonly AnthropicReply[]>> = {
      text: [counted((response) => response.writeHead(200, STREAM).end(anthropicStream(text)))],
      endless: [
        counted((response) => response.writeHead(200, STREAM).write(anthropicStream({ ...text, breaksOff: true }))),
      ],
      failing: [counted((response) => replyJson(response, 429, anthropicError("rate_limit_error", "slow down")))],
      calling: [{ blocks: [{ type: "tool_use", id: "toolu_1", name: "look", input: { at: "x" } }] }, text],
    };
    const { url } = await startAnthropicServer(...replies[behaviour]);
    const driver = await create("anthropic", { anthropic: { key: new Secret("k"), baseURL: url } });
    return { driver, model: "claude-sonnet-5", question: "hi", openAnswers };
  },
};

const openAiFixture: DriverFixture = {
  callsTools: true,
  reportsUsage: true,
  async setUp(behaviour) {
    const { counted, openAnswers } = countCalls();
    const text = [{ content: "hello " }, { content: "there" }];
    const call = { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"x"}' } };
    const replies: Readonly<Record<Behaviour, readonly OpenAiReply[]>> = {
      text: [counted((response) => response.writeHead(200, STREAM).end(openAiStream(text)))],
      endless: [
        counted((response) => response.writeHead(200, STREAM).write(openAiStream(text).split('"finish_reason":"')[0])),
      ],
      failing: [counted((response) => replyJson(response, 429, openAiError("rate_limit_exceeded", "slow down")))],
      calling: [[{ tool_calls: [call] }], text],
    };
    const { url } = await startOpenAiServer(...replies[behaviour]);
    const driver = await create("openai", { openai: { key: new Secret("k"), baseURL: `${url}/v1`, api: "auto" } });
    return { driver, model: "llama-4", question: "hi", openAnswers };
  },
};

const responsesFixture: DriverFixture = {
  callsTools: true,
  reportsUsage: true,
  async setUp(behaviour) {
    const { counted, openAnswers } = countCalls();
    const text = [{ text: "hello there" }];
    const item = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] };
    const stream = responseStream([item]);
    const replies: Readonly<Record<Behaviour, readonly ResponsesReply[]>> = {
      text: [counted((response) => response.writeHead(200, STREAM).end(stream))],
      endless: [
        counted((response) => response.writeHead(200, STREAM).write(stream.split("event: response.completed")[0])),
      ],
      failing: [counted((response) => replyJson(response, 429, openAiError("rate_limit_exceeded", "slow down")))],
      calling: [[{ reasoning: ["hm"] }, { call: "look", args: { at: "x" } }], text],
    };
    const { url } = await startResponsesServer(...replies[behaviour]);
    const own = { key: new Secret("k"), baseURL: `${url}/v1`, api: "responses" } as const;
    const driver = await create("openai", { openai: own });
    return { driver, model: "gpt-6", question: "hi", openAnswers };
  },
};

const SCRIPTED_AGENT = fileURLToPath(new URL("../drivers/acp/support/scripted-agent.mjs", import.meta.url));

const acpFixture: DriverFixture = {
  // An agent runs its tools itself.
  callsTools: false,
  reportsUsage: false,
  async setUp(behaviour) {
    const folder = mkdtempSync(join(tmpdir(), "excursor-contract-"));
    const env = { NOTES: join(folder, "notes") };
    const agents = { test: { command: process.execPath, args: [SCRIPTED_AGENT], env, cwd: folder } };
    const driver = await create("acp", { agents }, { environment: { PATH: process.env["PATH"] } });
    onTestFinished(async () => {
      await driver.close?.();
      rmSync(folder, { recursive: true, force: true });
    });
    const noted = (text: string) => notesIn(env.NOTES).filter((line) => line.startsWith(text)).length;
    const question = { text: "say hello", endless: "say a ;; wait", failing: "fail badly", calling: "" }[behaviour];
    return { driver, model: "acp:test", question, openAnswers: () => noted("waiting") - noted("cancel") };
  },
};

function notesIn(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

const FIXTURES: Readonly<Record<string, DriverFixture>> = {
  cursor: cursorFixture("cursor"),
  "cursor-legacy": cursorFixture("cursor-legacy"),
  anthropic: anthropicFixture,
  openai: openAiFixture,
  acp: acpFixture,
};

it("every driver keeps the contract", () => {
  expect(Object.keys(FIXTURES)).toEqual(DRIVERS.map(({ name }) => name));
});

for (const [name, fixture] of Object.entries(FIXTURES)) describeDriver(name, fixture);

describeDriver("openai over the Responses API", responsesFixture);
