import { client, type RequestError, type SessionUpdate } from "@agentclientprotocol/sdk";
import { expect, it } from "vitest";
import { FACES } from "../../src/app/faces.ts";
import type { ExcursorError } from "../../src/core/errors.ts";
import type { TurnEvent } from "../../src/core/events.ts";
import { throwRequestError } from "../../src/faces/acp-agent/errors.ts";
import { anthropicMessages } from "../../src/faces/anthropic-messages/index.ts";
import { failureOf } from "../../src/faces/cursor/errors.ts";
import { createServeRun } from "../../src/faces/cursor/run/serve-run.ts";
import { gemini } from "../../src/faces/gemini/index.ts";
import { ideBridge } from "../../src/faces/ide-bridge/index.ts";
import { ollama } from "../../src/faces/ollama/index.ts";
import { openAiChat } from "../../src/faces/openai-chat/index.ts";
import { openAiResponses } from "../../src/faces/openai-responses/index.ts";
import type { FaceModule } from "../../src/faces/shared/face-module.ts";
import { CursorClient } from "../faces/cursor/support/cursor-client.ts";
import { MODEL } from "../faces/cursor/support/models.ts";
import type { Answer, DialectAdapter } from "../gateway/support/dialect.ts";
import { anthropicMessages as messages } from "../gateway/support/dialects/anthropic-messages.ts";
import { gemini as geminiDialect } from "../gateway/support/dialects/gemini.ts";
import { ollama as ollamaDialect } from "../gateway/support/dialects/ollama.ts";
import { openAiChat as chat } from "../gateway/support/dialects/openai-chat.ts";
import { openAiResponses as responses } from "../gateway/support/dialects/openai-responses.ts";
import { describeFace, describeLoopFace, type FaceFixture, type LoopFaceFixture, PROMPT, type Said } from "./face.ts";

const BRIDGE = "/acp/sendMessage";

const FIXTURES: readonly FaceFixture[] = [
  fromAdapter(openAiChat, chat),
  fromAdapter(openAiResponses, responses),
  fromAdapter(anthropicMessages, messages),
  fromAdapter(gemini, geminiDialect),
  fromAdapter(ollama, ollamaDialect),
  {
    module: ideBridge,
    request: (stream) => ({ url: BRIDGE, body: { provider: "test", message: PROMPT, composerId: "c", stream } }),
    wrong: { url: BRIDGE, body: { provider: "test", message: PROMPT, composerId: 7 }, field: "composerId" },
    readStream: readLines,
    readWhole: (body) => saidIn(chat.answer(body)),
    readError: ({ message }) => String(message),
    // Agents run their tools themselves.
    lacksCalls: true,
  },
];

for (const fixture of FIXTURES) describeFace(fixture.module.name, fixture);

const LOOP_FIXTURES: Readonly<Record<string, LoopFaceFixture>> = {
  cursor: {
    async answer(batches, error) {
      const serve = createServeRun({ engine: engineOf(batches, error) });
      const run = new CursorClient({ folder: "/nowhere", serve }).ask(PROMPT);
      await run.ended;
      const ended = run.updates.find((update) => update.case === "turnEnded")?.value;
      return {
        text: run.text,
        thinking: run.thinking,
        calls: [],
        usage: ended && { input: Number(ended.inputTokens), output: Number(ended.outputTokens) },
        isEnded: ended !== undefined && run.error === undefined,
        error: run.error && failureOf(run.error).message,
      };
    },
    error: (error) => Buffer.from(failureOf(error).toEndFrame()).toString(),
  },
  "acp-agent": {
    async answer(batches, error) {
      const updates: SessionUpdate[] = [];
      const engine = engineOf(batches, error);
      const principal = { id: "p", token: undefined };
      const app = await FACES.acpAgent.open({ engine, principal, model: "m", version: "1" });
      const { agent } = client()
        .onNotification("session/update", ({ params }) => void updates.push(params.update))
        .connect(app);
      await agent.request("initialize", { protocolVersion: 1 });
      const { sessionId } = await agent.request("session/new", { cwd: "/nowhere", mcpServers: [] });
      const outcome = await agent
        .request("session/prompt", { sessionId, prompt: [{ type: "text", text: PROMPT }] })
        .catch((thrown: unknown) => thrown as Error);
      const shown = (kind: SessionUpdate["sessionUpdate"]) =>
        updates
          .map((one) => (one.sessionUpdate === kind && "content" in one ? (one.content as { text: string }).text : ""))
          .join("");
      return {
        text: shown("agent_message_chunk"),
        thinking: shown("agent_thought_chunk"),
        calls: [],
        usage: undefined,
        isEnded: "stopReason" in outcome,
        error: outcome instanceof Error ? outcome.message : undefined,
      };
    },
    error(error) {
      try {
        return throwRequestError(error);
      } catch (thrown) {
        return JSON.stringify((thrown as RequestError).toErrorResponse());
      }
    },
    lacksUsage: true,
  },
};

for (const [name, fixture] of Object.entries(LOOP_FIXTURES)) describeLoopFace(name, fixture);

it("every face is covered", () => {
  const registered = Object.values(FACES).flat();
  const covered = [...FIXTURES.map(({ module }) => module.name), ...Object.keys(LOOP_FIXTURES)];
  expect(covered.sort()).toEqual(registered.map(({ name }) => name).sort());
});

/** An engine with one answer. */
function engineOf(batches: readonly (readonly TurnEvent[])[], error?: ExcursorError) {
  return {
    async *run() {
      yield* batches;
      if (error) throw error;
    },
    findModel: async () => MODEL,
    listModels: async () => [],
    listCommands: async () => [],
  };
}

/** The dialects of the gateway are also asked by `test/gateway/every-face.test.ts`. */
function fromAdapter(module: FaceModule, adapter: DialectAdapter): FaceFixture {
  const question = {
    messages: [{ type: "user", text: PROMPT } as const],
    tools: [{ name: "look", parameters: { type: "object", properties: {} } }],
  };
  const [mistake] = adapter.mistakes;
  return {
    module,
    request: (isStream) => ({ url: adapter.path(question, isStream), body: adapter.body(question, isStream) }),
    wrong: {
      url: adapter.path(question, false),
      body: { ...adapter.body(question, false), ...mistake?.fields },
      field: mistake?.field ?? "",
    },
    readStream: (stream) => saidIn(adapter.streamed(stream.toString())),
    readWhole: (body) => saidIn(adapter.answer(body)),
    readError: (body) => adapter.error(body, 500).message,
  };
}

const saidIn = ({ text, thinking, calls, usage, finish, error }: Answer): Said => ({
  text,
  thinking,
  calls: calls.map(({ name, args }) => ({ name, args })),
  usage: usage && { input: usage.input, output: usage.output },
  isEnded: finish !== undefined,
  error,
});

interface BridgeLine {
  readonly type: string;
  readonly content?: string;
  readonly message?: string;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
}

function readLines(stream: Buffer): Said {
  const lines = stream.toString().trimEnd().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as BridgeLine);
  const contentOf = (type: string) => parsed.map((line) => (line.type === type ? (line.content ?? "") : "")).join("");
  const last = parsed.at(-1);
  return {
    text: contentOf("text"),
    thinking: contentOf("thought"),
    calls: [],
    usage: last?.usage && { input: last.usage.inputTokens, output: last.usage.outputTokens },
    isEnded: last?.type === "done",
    error: last?.type === "error" ? last.message : undefined,
  };
}
