import { GatheredText } from "../engine/gathered-text.ts";
import type { TurnEvent } from "../events.ts";
import { historyKeys } from "../history/history-key.ts";
import type { AssistantMessage, AssistantPart, Message, ToolMessage } from "../turn.ts";

/** A round of the model, as it is stored. */
export interface SaidRound {
  /** Client calls have the ids that the client sees. */
  readonly said: AssistantMessage;
  /** The key of the history that the client will send back. Undefined if the round has no client calls. */
  readonly historyKey: string | undefined;
}

export interface HubTranscriptParts {
  readonly messages: readonly Message[];
  /** What the hub did before, by the keys of the histories that end there. */
  readonly recalled?: ReadonlyMap<string, readonly Message[]>;
  readonly isHubTool: (name: string) => boolean;
  /** Returns the id that a call has for the client. */
  readonly nameOf?: (id: string) => string;
  /** The client gets one call of a round at a time. */
  readonly isOneByOne?: boolean;
}

/**
 * A conversation with hub calls. The client does not see those calls, so its history lacks them; the transcript puts them
 * back. They are marked, so that a history has the same key with and without them.
 */
export class HubTranscript {
  readonly #parts: HubTranscriptParts;
  /** The conversation up to the last request, hub calls included. */
  #base: readonly Message[];
  /** The messages since then. */
  #since: Message[] = [];
  /** Once the answer has ended in client calls: the messages since then with the client's call ids, and the history key. */
  #ended: { readonly key: string; readonly shown: Message[] } | undefined;
  readonly #whole: Map<string, readonly Message[]>;
  #content: AssistantPart[] = [];
  readonly #text = new GatheredText();

  constructor(parts: HubTranscriptParts) {
    this.#parts = parts;
    this.#whole = new Map(parts.recalled);
    this.#base = this.#restore(parts.messages);
  }

  /** The whole conversation, hub calls and their results included. */
  get messages(): readonly Message[] {
    return [...this.#base, ...this.#since];
  }

  /** True if it has hub calls. */
  get hasHubCalls(): boolean {
    return this.#whole.size > 0 || this.#since.some(hasHubCall);
  }

  take(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#text.add(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      const { type, id, name, args } = event;
      this.#content.push({ type, id, name, args, ...(this.#parts.isHubTool(name) && { isHubs: true }) });
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

  /** Ends the answer. Returns the text since the last round, and the key of the history that the client will have. */
  endAnswer(): { readonly text: string; readonly historyKey: string } {
    const text = this.#text.take();
    const last: AssistantMessage = { role: "assistant", content: [{ type: "text", text }] };
    return { text, historyKey: historyKeys([...this.messages, last]).at(-1) ?? "" };
  }

  addResults(results: readonly ToolMessage[]): void {
    this.#since.push(...results);
    this.#ended?.shown.push(...results);
  }

  /** Continues with the client's history, which has the results of its calls. */
  follow(history: readonly Message[]): void {
    const { key, shown } = this.#ended ?? {};
    if (key !== undefined && shown?.some(hasHubCall)) this.#whole.set(key, shown);
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

const hasHubCall = ({ content }: Message): boolean => content.some((part) => part.type === "tool-call" && part.isHubs);
