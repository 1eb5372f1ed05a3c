import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import { readArguments } from "../../core/json/call-arguments.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import { asJson } from "../shared/official.ts";
import { type CompletionHead, type CompletionMessage, chatCompletion } from "../shared/openai/chat-completion.ts";
import { freeText, inFields } from "./answer.ts";
import { ThinkingWriter } from "./thinking/thinking-writer.ts";

export class CompletionCollector implements AnswerCollector {
  readonly #head: CompletionHead;
  readonly #thinker: ThinkingWriter;
  readonly #customTools: ReadonlySet<string>;
  readonly #calls = new Map<string, { readonly name: string; json: string }>();
  #text = "";
  #thinking = "";
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;

  constructor(head: CompletionHead, thinking = inFields(), customTools: ReadonlySet<string> = new Set()) {
    this.#head = head;
    this.#customTools = customTools;
    this.#thinker = new ThinkingWriter(thinking);
  }

  step(events: readonly TurnEvent[]): void {
    for (const event of events) this.#take(event);
  }

  body(): JsonObject {
    if (this.#reason === undefined) throw new ExcursorError("internal", "An answer was sent before it was whole.");
    return asJson(chatCompletion(this.#head, this.#message(), this.#reason, this.#usage));
  }

  #take(event: TurnEvent): void {
    this.#text += this.#thinker.textBefore(event);
    switch (event.type) {
      case "text":
        this.#text += event.text;
        return;
      case "thinking":
        if (this.#thinker.place === "text") this.#text += event.text;
        else if (this.#thinker.place === "fields") this.#thinking += event.text;
        return;
      case "tool-call-start":
        this.#calls.set(event.id, { name: event.name, json: "" });
        return;
      case "tool-call-delta": {
        const call = this.#calls.get(event.id);
        if (call) call.json += event.json;
        return;
      }
      case "tool-call":
        this.#calls.set(event.id, { name: event.name, json: JSON.stringify(event.args) });
        return;
      case "usage":
        this.#usage = event.usage;
        return;
      case "done":
        this.#reason = event.reason;
        return;
      case "thinking-done":
      case "activity":
      case "notice":
        return;
      default:
        event satisfies never;
    }
  }

  #message(): CompletionMessage {
    const calls = [...this.#calls].map(([id, { name, json }]) =>
      this.#customTools.has(name)
        ? { id, type: "custom" as const, custom: { name, input: freeText(readArguments(json)) } }
        : { id, type: "function" as const, function: { name, arguments: json } },
    );
    return {
      role: "assistant",
      content: this.#text === "" && calls.length > 0 ? null : this.#text,
      refusal: null,
      annotations: [],
      ...(this.#thinking !== "" && { reasoning_content: this.#thinking, reasoning: this.#thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }
}
