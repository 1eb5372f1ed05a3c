import { ExcursorError } from "../../core/errors.ts";
import type { TurnEvent, Usage } from "../../core/events.ts";
import { redactedData } from "../../core/thinking/redacted-thinking.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import {
  type AnswerHead,
  type Block,
  messageObject,
  redactedBlock,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from "./answer.ts";
import { mintSignature } from "./signature.ts";

type Gathered =
  | { readonly type: "text"; text: string }
  | { readonly type: "thinking"; text: string; signature: string | undefined; isWhole: boolean }
  | { readonly type: "call"; readonly id: string; readonly name: string; input: JsonObject };

export class MessageCollector implements AnswerCollector {
  readonly #head: AnswerHead;
  readonly #blocks: Gathered[] = [];
  #usage: Usage | undefined;
  #done: Extract<TurnEvent, { type: "done" }> | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  step(events: readonly TurnEvent[]): void {
    for (const event of events) this.#take(event);
  }

  body(): JsonObject {
    if (!this.#done) throw new ExcursorError("internal", "An answer was sent before it was whole.");
    return messageObject(this.#head, this.#blocks.map(contentBlock), this.#usage, this.#done);
  }

  #take(event: TurnEvent): void {
    const last = this.#blocks.at(-1);
    switch (event.type) {
      case "text":
        if (last?.type === "text") last.text += event.text;
        else this.#blocks.push({ type: "text", text: event.text });
        return;
      case "thinking": {
        const text = this.#head.omitsThinking ? "" : event.text;
        if (last?.type === "thinking" && !last.isWhole) last.text += text;
        else this.#blocks.push({ type: "thinking", text, signature: undefined, isWhole: false });
        return;
      }
      case "thinking-done":
        if (last?.type === "thinking" && !last.isWhole) {
          Object.assign(last, { isWhole: true, signature: event.signature });
        } else if (event.signature !== undefined) {
          this.#blocks.push({ type: "thinking", text: "", signature: event.signature, isWhole: true });
        }
        return;
      case "tool-call-start":
        this.#blocks.push({ type: "call", id: event.id, name: event.name, input: {} });
        return;
      case "tool-call":
        this.#complete(event.id, event.name, event.args);
        return;
      case "usage":
        this.#usage = event.usage;
        return;
      case "done":
        this.#done = event;
        return;
      case "tool-call-delta":
      case "activity":
      case "notice":
        return;
      default:
        event satisfies never;
    }
  }

  #complete(id: string, name: string, input: JsonObject): void {
    const begun = this.#blocks.find((block) => block.type === "call" && block.id === id);
    if (begun?.type === "call") begun.input = input;
    else this.#blocks.push({ type: "call", id, name, input });
  }
}

function contentBlock(block: Gathered): Block {
  switch (block.type) {
    case "text":
      return textBlock(block.text);
    case "thinking": {
      const { text, signature = mintSignature(text) } = block;
      const data = redactedData(signature);
      return data === undefined ? thinkingBlock(text, signature) : redactedBlock(data);
    }
    case "call":
      return toolUseBlock(block.id, block.name, block.input);
    default:
      return block satisfies never;
  }
}
