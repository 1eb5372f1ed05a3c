import { ExcursorError } from "../../../core/errors.ts";
import type { TurnEvent } from "../../../core/events.ts";
import type { HubRound } from "../../../core/hub/hub-answers.ts";
import { type Message, type ToolCallPart, textOf } from "../../../core/turn.ts";
import type { ConversationAction } from "../../../gen/agent/v1/action_pb.ts";
import type { ConversationStateStructure } from "../../../gen/agent/v1/conversation_pb.ts";
import type { ToolCall } from "../../../gen/agent/v1/tool_call_pb.ts";
import type { UserMessage as WireUserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import { userMessagesOf } from "../../../wire/agent/read-run-request.ts";
import type { BlobSource } from "../../../wire/agent/state/blobs.ts";
import { summaryMessage } from "../../../wire/agent/state/summary.ts";
import { Transcript } from "../../../wire/agent/state/transcript.ts";
import { besides, readAsked } from "./parse.ts";
import { openLastTurn, readConversation } from "./state.ts";
import type { ToolOutcome } from "./tools/tool.ts";
import { shownCall, writeHistory } from "./write-history.ts";

/** Returns how a call is shown to the user. */
type DisplayOf = (call: ToolCallPart) => ToolCall;

/** What has been said, twice: as messages for our model, and as the transcript that the client stores. */
export class OwnConversation {
  /** The agent loop appends to it. */
  messages: Message[] = [];
  readonly #requestId: string;
  readonly #displayOf: DisplayOf;
  #transcript: Transcript | undefined;
  #isAnswered = false;

  constructor(requestId: string, displayOf: DisplayOf) {
    this.#requestId = requestId;
    this.#displayOf = displayOf;
  }

  /** True if there is nothing to ask the model, unless the user sends more. */
  get isAnswered(): boolean {
    return this.#isAnswered || this.messages.at(-1)?.role === "assistant";
  }

  /** Throws before the state is read. */
  get transcript(): Transcript {
    if (!this.#transcript) throw new ExcursorError("internal", "The run has no state yet.");
    return this.#transcript;
  }

  /** Reads the conversation so far. A run that resumes takes its last turn up again. */
  async read(state: ConversationStateStructure, action: ConversationAction, blobs: BlobSource): Promise<void> {
    const { messages: conversation, isSummarized } = await readConversation(state, blobs);
    this.messages = [...conversation];
    if (userMessagesOf(action).length > 0) {
      const unrooted = conversation.length === 0 ? besides(action) : [];
      this.messages.push(...unrooted);
      this.#transcript = new Transcript(state, unrooted, this.#requestId, true);
      return;
    }
    if (isSummarized || action.action.case === "summarizeAction") {
      this.#transcript = new Transcript(state, [], this.#requestId, true);
      this.#isAnswered = true;
      return;
    }
    const { before, asked, displays } = await openLastTurn(state, blobs);
    const start = conversation.findLastIndex(({ role }) => role === "user");
    this.#transcript = new Transcript(before, [], this.#requestId, true);
    if (asked) this.#transcript.addUser(asked, textOf(conversation[start]?.content ?? []));
    if (before === state) return;
    const shown = (call: ToolCallPart) => displays.get(call.id) ?? this.#displayOf(call);
    writeHistory(this.#transcript, conversation.slice(start + 1), shown);
  }

  /** Replaces everything by a summary. `state` is the state with it. */
  summarize(summary: string, state: ConversationStateStructure): void {
    this.messages = [summaryMessage(summary)];
    this.#transcript = new Transcript(state, [], this.#requestId, true);
  }

  async addUser(message: WireUserMessage, blobs: BlobSource): Promise<void> {
    const read = await readAsked(message, blobs);
    this.messages.push(read);
    this.#transcript?.addUser(message, textOf(read.content));
  }

  /** Adds rounds of tool calls of an earlier attempt. */
  addRounds(rounds: readonly HubRound[]): void {
    for (const { said, results } of rounds) {
      this.messages.push(said, ...results);
      if (this.#transcript) writeHistory(this.#transcript, [said, ...results], this.#displayOf);
    }
  }

  /** Writes an event down in the transcript. The agent loop adds the whole answer to the messages. */
  record(event: TurnEvent): void {
    switch (event.type) {
      case "text":
        this.#transcript?.addText(event.text);
        break;
      case "thinking":
        this.#transcript?.addThinking(event.text);
        break;
      case "thinking-done":
        this.#transcript?.endThinking(Math.max(1, Math.round(event.durationMs)), event.signature);
        break;
    }
  }

  beginCalls(calls: readonly ToolCallPart[]): void {
    this.#transcript?.addCalls(calls.map((call) => shownCall(call, this.#displayOf(call))));
  }

  endCall(callId: string, { display, content, isError }: ToolOutcome): void {
    this.#transcript?.endCall(callId, display, { content, isError });
  }
}
