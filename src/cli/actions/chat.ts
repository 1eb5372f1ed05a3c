import { text } from "node:stream/consumers";
import { ExcursorError } from "../../core/errors.ts";
import { DEMO_TOOLS, runDemoTool } from "../demo-tools.ts";
import { type ClientFlags, type GatewayClient, messageError, withGateway } from "../gateway-client.ts";
import { readEvents } from "../read-events.ts";
import { answerQuestion } from "../terminal/answer-question.ts";
import { type ChatScreen, createChatScreen } from "../terminal/chat-screen.ts";
import { startSpinner } from "../terminal/spinner.ts";

export interface ChatFlags extends ClientFlags {
  readonly model: string;
  readonly system?: string | undefined;
  readonly effort?: string | undefined;
  /** Offers the demo tools, and runs them. */
  readonly tools: boolean;
}

interface Delta {
  readonly content?: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCallDelta[];
}

interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The keep-alive comment. All others are about tools of the hub. */
const KEEP_ALIVE = "keep-alive";

/** How many rounds of tool calls one question may have. */
const MAX_ROUNDS = 25;

/** Sends a question and prints the answer as it arrives. Ctrl-C cancels the question. */
export async function runChat(words: string, { model, system, effort, tools, ...flags }: ChatFlags): Promise<void> {
  const prompt = words === "" || words === "-" ? await readPrompt() : words;
  const messages: object[] = [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    { role: "user", content: prompt },
  ];
  const body = {
    model,
    stream: true,
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(tools && { tools: DEMO_TOOLS }),
  };
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const screen = createChatScreen();
  try {
    await withGateway(flags, async (gateway) => {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const answer = await ask(gateway, { ...body, messages }, screen, interrupt.signal);
        if (answer.tool_calls.length === 0) {
          screen.end();
          return;
        }
        messages.push(answer);
        for (const { id, function: call } of answer.tool_calls) {
          const content = runDemoTool(call.name, call.arguments);
          screen.call(call.name, call.arguments, content);
          messages.push({ role: "tool", tool_call_id: id, content });
        }
      }
      throw new ExcursorError("upstream-failed", `The model called tools ${MAX_ROUNDS} times in a row.`);
    });
  } catch (error) {
    if (!interrupt.signal.aborted) {
      screen.end();
      throw error;
    }
    process.stdout.write("\n");
    process.exitCode = 130;
  }
}

/** Sends one request and prints the answer. Returns the message that the client must send back. */
async function ask(gateway: GatewayClient, body: object, screen: ChatScreen, signal: AbortSignal) {
  const calls: ToolCall[] = [];
  let said = "";
  const spinner = startSpinner();
  try {
    // On a terminal the user can answer questions of a hub tool.
    const headers = process.stdin.isTTY && process.stderr.isTTY ? { "x-excursor-asks": "terminal" } : {};
    const response = await gateway.call("/fields/v1/chat/completions", { body, signal, headers });
    const onComment = async (comment: string) => {
      if (await answerQuestion(comment, gateway, { signal, onAsk: () => spinner.stop() })) return;
      if (comment === KEEP_ALIVE) return;
      spinner.stop();
      screen.note(comment);
    };
    for await (const event of readEvents(response, undefined, onComment)) {
      const { content, reasoning_content: thinking = "", tool_calls: parts = [] } = deltaOf(event);
      if ((content ?? "") + thinking !== "") spinner.stop();
      screen.think(thinking);
      screen.say(content ?? "");
      said += content ?? "";
      for (const part of parts) calls[part.index] = addPart(calls[part.index], part);
    }
  } finally {
    spinner.stop();
  }
  return { role: "assistant", content: said, tool_calls: calls };
}

const addPart = (call: ToolCall | undefined, { id, function: part }: ToolCallDelta): ToolCall => ({
  id: call?.id ?? id ?? "",
  type: "function",
  function: {
    name: call?.function.name ?? part?.name ?? "",
    arguments: (call?.function.arguments ?? "") + (part?.arguments ?? ""),
  },
});

async function readPrompt(): Promise<string> {
  if (!process.stdin.isTTY) {
    const given = (await text(process.stdin)).trim();
    if (given !== "") return given;
  }
  throw new ExcursorError("invalid-request", "The question is empty.", {
    hint: 'Write the question after the command: excursor chat "hello"',
  });
}

function deltaOf(event: unknown): Delta {
  const error = messageError("upstream-failed", event);
  if (error) throw error;
  return (event as { readonly choices?: readonly { readonly delta: Delta }[] }).choices?.[0]?.delta ?? {};
}
