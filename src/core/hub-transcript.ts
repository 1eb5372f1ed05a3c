import type { TurnEvent } from "./events.ts";
import { GatheredText } from "./gathered-text.ts";
import type { AssistantMessage, AssistantPart, Message, ToolCallPart, ToolMessage } from "./turn.ts";

/**
 * A conversation in which some calls are answered by us. The client never hears of those, so what it sends back lacks
 * them; here they are put back in their places. They are marked, so that a history with them and one without have the
 * same key.
 */
export class HubTranscript {
  readonly #isOurs: (name: string) => boolean;
  /** The conversation up to the last request, whole. */
  #base: readonly Message[];
  /** What was said and done since then. */
  #since: Message[] = [];
  /** What stands for an answer that the client has, by its first call's name outside. */
  readonly #whole = new Map<string, readonly Message[]>();
  #parts: AssistantPart[] = [];
  readonly #text = new GatheredText();

  constructor(messages: readonly Message[], isOurs: (name: string) => boolean) {
    this.#base = messages;
    this.#isOurs = isOurs;
  }

  /** All of it, calls of ours and their results included. */
  get messages(): readonly Message[] {
    return [...this.#base, ...this.#since];
  }

  /** Whether there is anything in it that the client does not know. */
  get hasOurs(): boolean {
    return this.#whole.size > 0 || this.#since.some(isOurs);
  }

  take(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#text.add(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      const { type, id, name, args } = event;
      this.#parts.push({ type, id, name, args, ...(this.#isOurs(name) && { isHubs: true }) });
    }
  }

  /** The model waits for results. */
  endAnswer(): void {
    this.#takeText();
    this.#since.push({ role: "assistant", content: this.#parts });
    this.#parts = [];
  }

  addResults(results: readonly ToolMessage[]): void {
    this.#since.push(...results);
  }

  /** The client has brought its results: this is its view of everything up to now. */
  follow(history: readonly Message[]): void {
    const last = history.findLast((message) => message.role === "assistant");
    const key = last && firstCall(last);
    // A client that wants its calls one by one has cut the answer up; then its own view has to do.
    const isWhole = last && callsOf([last]).length === callsOf(this.#since).filter(({ isHubs }) => !isHubs).length;
    if (key !== undefined && isWhole && this.#since.some(isOurs)) this.#whole.set(key, renameCalls(this.#since, last));
    this.#since = [];
    this.#base = history.flatMap((message) => this.#whole.get(firstCall(message) ?? "") ?? [message]);
  }

  #takeText(): void {
    const text = this.#text.take();
    if (text !== "") this.#parts.push({ type: "text", text });
  }
}

/** The client's calls under the names that the client has for them. */
function renameCalls(messages: readonly Message[], shown: AssistantMessage): readonly Message[] {
  const names = callsOf([shown]).map(({ id }) => id);
  return messages.map((message) => {
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) =>
      part.type === "tool-call" && !part.isHubs ? { ...part, id: names.shift() ?? part.id } : part,
    );
    return { ...message, content };
  });
}

const callsOf = (messages: readonly Message[]): readonly ToolCallPart[] =>
  messages.flatMap(({ content }) => content.filter((part) => part.type === "tool-call"));

const isOurs = (message: Message): boolean => callsOf([message]).some(({ isHubs }) => isHubs);

const firstCall = (message: Message): string | undefined => callsOf([message])[0]?.id;
