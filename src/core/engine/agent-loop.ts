import { randomUUID } from "node:crypto";
import type { DoneReason, TurnEvent } from "../events.ts";
import type { Elicit } from "../hub/tool-hub.ts";
import type { AssistantMessage, AssistantPart, Message, ToolCallPart, ToolMessage, Turn } from "../turn.ts";
import type { Engine } from "./engine.ts";
import { GatheredText } from "./gathered-text.ts";

/** Runs the tool calls of a model. */
export interface ToolRunner {
  /**
   * Runs one call and returns its result. A tool that fails, a tool that does not exist and a user who refuses permission are
   * results, too, with `isError`. When the signal aborts, it returns soon. A rejection ends the loop.
   */
  run(call: ToolCallPart, signal: AbortSignal): Promise<ToolMessage>;
}

/** What the loop needs of the face that uses it. */
export interface AgentLoopParts {
  readonly engine: Pick<Engine, "run">;
  readonly tools: ToolRunner;
  /** Called before each round. May append to the messages, such as what the user has sent meanwhile. */
  readonly beforeRound?: (() => Promise<void>) | undefined;
  /** Called with an answer that calls tools, before the first of them is run. */
  readonly beforeCalls?: ((said: AssistantMessage) => Promise<void>) | undefined;
  /** Returns the turn that asks about these messages. Called for each round, so a change of the model holds from the next. */
  readonly turnFor: (messages: readonly Message[]) => Turn;
  /** Shows events to the user. The loop waits for it before it reads on. */
  readonly show: (events: readonly TurnEvent[]) => Promise<void>;
  /** Asks the user a question of a hub tool. Absent: questions are declined. */
  readonly elicit?: Elicit | undefined;
  readonly signal: AbortSignal;
  /** The id of the request that all rounds belong to. Absent: each round has an id of its own. */
  readonly requestId?: string | undefined;
  /** Keeps finished thinking, with its signature, in the messages. */
  readonly keepsThinking?: boolean;
  /** Runs the calls of one round at the same time. Otherwise one after the other, since the user may be asked about each. */
  readonly runsInParallel?: boolean;
  /** How many times the model is asked, at most. A model that needs more runs in a circle. */
  readonly maxRounds?: number;
}

/** Why the loop ended: as the model said, or `cancelled` by the signal, or because it took too many rounds. */
export type AgentLoopEnd = Exclude<DoneReason, "tool-calls"> | "cancelled" | "max-rounds";

const MAX_ROUNDS = 200;

/**
 * Asks a model, runs the tools that it calls and asks again, until it calls none. The messages of the conversation are
 * appended to `messages` as they come, so that they are there even if the loop throws; each tool call in them has a result.
 *
 * Throws what the engine or the parts throw, unless the signal has aborted.
 */
export async function runAgentLoop(messages: Message[], parts: AgentLoopParts): Promise<AgentLoopEnd> {
  const { signal, maxRounds = MAX_ROUNDS } = parts;
  try {
    for (let round = 0; round < maxRounds; round++) {
      await parts.beforeRound?.();
      const { reason, calls, content } = await ask(messages, parts);
      if (reason === "tool-calls") {
        await parts.beforeCalls?.({ role: "assistant", content });
        await runTools(calls, messages, parts);
      }
      if (signal.aborted) return "cancelled";
      if (reason !== "tool-calls") return reason;
    }
    return "max-rounds";
  } catch (error) {
    if (signal.aborted) return "cancelled";
    throw error;
  }
}

interface Asked {
  readonly reason: DoneReason;
  readonly calls: readonly ToolCallPart[];
  readonly content: readonly AssistantPart[];
}

async function ask(messages: Message[], parts: AgentLoopParts): Promise<Asked> {
  const { engine, turnFor, show, elicit, signal, requestId = randomUUID(), keepsThinking = false } = parts;
  const calls: ToolCallPart[] = [];
  const content: AssistantPart[] = [];
  const said = new GatheredText();
  const thought = new GatheredText();
  const endText = () => {
    const text = said.take();
    if (text !== "") content.push({ type: "text", text });
  };
  let reason: DoneReason = "stop";
  try {
    const turn = turnFor([...messages]);
    for await (const events of engine.run(turn, { requestId, signal, elicit })) {
      for (const event of events) {
        if (event.type === "text") said.add(event.text);
        else if (event.type === "tool-call") calls.push(event);
        else if (event.type === "thinking" && keepsThinking) thought.add(event.text);
        else if (event.type === "thinking-done" && keepsThinking) {
          endText();
          content.push({ type: "thinking", text: thought.take(), signature: event.signature });
        } else if (event.type === "done") reason = event.reason;
      }
      await show(events);
    }
  } finally {
    endText();
    // Calls of an answer that broke off are never run, so they are not part of the conversation.
    if (reason === "tool-calls") content.push(...calls);
    if (content.length > 0) messages.push({ role: "assistant", content });
  }
  return { reason, calls, content };
}

/** Runs the calls of a round. After an abort the rest is marked cancelled. */
async function runTools(calls: readonly ToolCallPart[], messages: Message[], parts: AgentLoopParts): Promise<void> {
  const { tools, signal, runsInParallel = false } = parts;
  if (runsInParallel) {
    messages.push(...(await Promise.all(calls.map((call) => tools.run(call, signal)))));
    return;
  }
  for (const call of calls) messages.push(signal.aborted ? cancelled(call) : await tools.run(call, signal));
}

const cancelled = ({ id }: ToolCallPart): ToolMessage => ({
  role: "tool",
  callId: id,
  content: [{ type: "text", text: "Cancelled." }],
  isError: true,
});
