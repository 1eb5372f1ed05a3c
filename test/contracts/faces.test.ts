import { expect, it } from "vitest";
import { BRIDGE_FACES, GATEWAY_FACES } from "../../src/app/faces.ts";
import { anthropicMessages } from "../../src/faces/anthropic-messages/index.ts";
import { ideBridge } from "../../src/faces/ide-bridge/index.ts";
import { openAiChat } from "../../src/faces/openai-chat/index.ts";
import { openAiResponses } from "../../src/faces/openai-responses/index.ts";
import type { FaceModule } from "../../src/faces/shared/face-module.ts";
import { type Answer, type DialectAdapter, readEvents } from "../gateway/support/dialect.ts";
import { anthropicMessages as messages } from "../gateway/support/dialects/anthropic-messages.ts";
import { openAiChat as chat } from "../gateway/support/dialects/openai-chat.ts";
import { openAiResponses as responses } from "../gateway/support/dialects/openai-responses.ts";
import { describeFace, type FaceFixture, PROMPT, type Said } from "./face.ts";

const FIXTURES: readonly FaceFixture[] = [
  fromAdapter(openAiChat, chat),
  fromAdapter(openAiResponses, responses),
  fromAdapter(anthropicMessages, messages),
  {
    module: ideBridge,
    path: "/acp/sendMessage",
    request: (stream) => ({ body: { provider: "test", message: PROMPT, composerId: "c", stream } }),
    wrong: { body: { provider: "test", message: PROMPT, composerId: 7 }, field: "composerId" },
    readStream: readLines,
    readWhole: (body) => saidIn(chat.answer(body)),
    readError: ({ message }) => String(message),
    // Agents run their tools themselves.
    lacksCalls: true,
  },
];

for (const fixture of FIXTURES) describeFace(fixture.module.name, fixture);

it("every face is covered", () => {
  const registered = [...GATEWAY_FACES, ...BRIDGE_FACES].map(({ name }) => name);
  expect(FIXTURES.map(({ module }) => module.name).sort()).toEqual(registered.sort());
});

/** The three dialects of the gateway are also asked by `test/gateway/every-face.test.ts`. */
function fromAdapter(module: FaceModule, adapter: DialectAdapter): FaceFixture {
  const question = {
    messages: [{ type: "user", text: PROMPT } as const],
    tools: [{ name: "look", parameters: { type: "object", properties: {} } }],
  };
  return {
    module,
    path: adapter.path.replace(/\?.*/, ""),
    request: (isStream) => ({ body: adapter.body(question, isStream) }),
    wrong: { body: { ...adapter.body(question, false), model: 7 }, field: "model" },
    readStream: (stream) => saidIn(adapter.streamed(readEvents(stream.toString()))),
    readWhole: (body) => saidIn(adapter.answer(body)),
    readError: (body) => adapter.error(body).message,
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
