import { GatheredText } from "../engine/gathered-text.ts";
import type { TurnEvent } from "../events.ts";
import { historyKeys } from "../history/history-key.ts";
import type { AssistantMessage, AssistantPart, Message, ToolMessage } from "../turn.ts";

/** What was said in a round. */
export interface SaidRound {
  /** With the client's calls as the client has them. */
  readonly said: AssistantMessage;
  /** Of the history that the client sends back, if it has calls to answer; undefined if all calls are the hub's. */
  readonly historyKey: string | undefined;
}

export interface HubTranscriptParts {
  readonly messages: readonly Message[];
  /** What the hub did before, by the keys of the histories that end with it. */
  readonly recalled?: ReadonlyMap<string, readonly Message[]>;
  readonly isOurs: (name: string) => boolean;
  /** The name that a call has for the client. */
  readonly nameOf?: (id: string) => string;
  /** The client is shown one call of a batch at a time. */
  readonly isOneByOne?: boolean;
}

/**
 * A conversation in which some calls are answered by the hub. The client does not know those calls, so its history lacks
 * them; here they are put back in their places. They are marked, so that a history with them and one without have the
 * same key.
 */
export class HubTranscript {
  readonly #parts: HubTranscriptParts;
  /** The conversation up to the last request, whole. */
  #base: readonly Message[];
  /** What was said and done since then. */
  #since: Message[] = [];
  /** The same as the client's next history has it, and the key of that, once the answer has ended in calls. */
  #ended: { readonly key: string; readonly shown: Message[] } | undefined;
  readonly #whole: Map<string, readonly Message[]>;
  #content: AssistantPart[] = [];
  readonly #text = new GatheredText();

  constructor(parts: HubTranscriptParts) {
    this.#parts = parts;
    this.#whole = new Map(parts.recalled);
    this.#base = this.#restore(parts.messages);
  }

  /** All of it, the hub's calls and their results included. */
  get messages(): readonly Message[] {
    return [...this.#base, ...this.#since];
  }

  /** Whether it has anything that the client does not know. */
  get hasOurs(): boolean {
    return this.#whole.size > 0 || this.#since.some(isOurs);
  }

  take(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#text.add(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      const { type, id, name, args } = event;
      this.#content.push({ type, id, name, args, ...(this.#parts.isOurs(name) && { isHubs: true }) });
    }
  }

  /** Ends a round: the model waits for results. */
  endRound(): SaidRound {
    this.#takeText();
    const content = this.#content;
    const before = this.#since;
    this.#content = [];
    this.#since = [...before, { role: "assistant", content }];
    if (!content.some((part) => part.type === "tool-call" && !part.isHubs)) {
      return { said: { role: "assistant", content }, historyKey: undefined };
    }
    const said: AssistantMessage = { role: "assistant", content: this.#shown(content) };
    const shown = [...before, said];
    const key = historyKeys([...this.#base, ...shown]).at(-1) ?? "";
    this.#ended = { key, shown };
    return { said, historyKey: key };
  }

  /** Ends the answer: the model has said its last word. */
  endAnswer(): { readonly text: string; readonly historyKey: string } {
    const text = this.#text.take();
    const last: AssistantMessage = { role: "assistant", content: [{ type: "text", text }] };
    return { text, historyKey: historyKeys([...this.messages, last]).at(-1) ?? "" };
  }

  addResults(results: readonly ToolMessage[]): void {
    this.#since.push(...results);
    this.#ended?.shown.push(...results);
  }

  /** The client has brought its results: this is its history up to now. */
  follow(history: readonly Message[]): void {
    const { key, shown } = this.#ended ?? {};
    if (key !== undefined && shown?.some(isOurs)) this.#whole.set(key, shown);
    this.#ended = undefined;
    this.#since = [];
    this.#base = this.#restore(history);
  }

  #restore(history: readonly Message[]): readonly Message[] {
    if (this.#whole.size === 0) return history;
    const keys = historyKeys(history);
    return history.flatMap((message, at) => {
      const whole = message.role === "assistant" ? this.#whole.get(keys[at + 1] ?? "") : undefined;
      return whole ?? [message];
    });
  }

  #shown(content: readonly AssistantPart[]): AssistantPart[] {
    const { nameOf = (id: string) => id, isOneByOne = false } = this.#parts;
    let shown = 0;
    return content.flatMap((part) => {
      if (part.type !== "tool-call" || part.isHubs) return [part];
      return isOneByOne && shown++ > 0 ? [] : [{ ...part, id: nameOf(part.id) }];
    });
  }

  #takeText(): void {
    const text = this.#text.take();
    if (text !== "") this.#content.push({ type: "text", text });
  }
}

const isOurs = ({ content }: Message): boolean => content.some((part) => part.type === "tool-call" && part.isHubs);
