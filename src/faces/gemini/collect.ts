import { ExcursorError } from "../../core/errors.ts";
import type { DoneReason, TurnEvent, Usage } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { AnswerCollector } from "../shared/face.ts";
import type { CalledTool } from "../shared/tools/call-memory.ts";
import { type AnswerHead, callPart, type Part, response } from "./answer.ts";
import { wrapSignature } from "./signature.ts";

type Written =
  | { readonly type: "text"; text: string }
  | { readonly type: "thought"; text: string; signature: string | undefined; isWhole: boolean }
  | { readonly type: "call"; readonly call: CalledTool };

export class ResponseCollector implements AnswerCollector {
  readonly #head: AnswerHead;
  readonly #parts: Written[] = [];
  #usage: Usage | undefined;
  #reason: DoneReason | undefined;

  constructor(head: AnswerHead) {
    this.#head = head;
  }

  step(events: readonly TurnEvent[]): void {
    for (const event of events) this.#take(event);
  }

  body(): JsonObject {
    if (!this.#reason) throw new ExcursorError("internal", "An answer was sent before it was whole.");
    const calls = this.#parts.flatMap((part) => (part.type === "call" ? [part.call] : []));
    if (calls.length > 0) this.#head.keepCalls(calls);
    const parts = this.#parts.map(partObject);
    const end = { reason: this.#reason, usage: this.#usage };
    return response(this.#head, parts.length > 0 ? parts : [{ text: "" }], end);
  }

  #take(event: TurnEvent): void {
    const last = this.#parts.at(-1);
    if (event.type === "text") {
      if (last?.type === "text") last.text += event.text;
      else this.#parts.push({ type: "text", text: event.text });
    } else if (event.type === "thinking") this.#think(event.text);
    else if (event.type === "thinking-done") this.#sign(event.signature);
    else if (event.type === "tool-call") {
      const { id, name, args } = event;
      this.#parts.push({ type: "call", call: { id, name, args } });
    } else if (event.type === "usage") this.#usage = event.usage;
    else if (event.type === "done") this.#reason = event.reason;
  }

  #think(text: string): void {
    if (!this.#head.includesThoughts) return;
    const last = this.#parts.at(-1);
    if (last?.type === "thought" && !last.isWhole) last.text += text;
    else this.#parts.push({ type: "thought", text, signature: undefined, isWhole: false });
  }

  #sign(signature: string | undefined): void {
    if (!this.#head.includesThoughts) return;
    const last = this.#parts.at(-1);
    if (last?.type === "thought" && !last.isWhole) Object.assign(last, { signature, isWhole: true });
    else if (signature !== undefined) this.#parts.push({ type: "thought", text: "", signature, isWhole: true });
  }
}

function partObject(part: Written): Part {
  if (part.type === "text") return { text: part.text };
  if (part.type === "call") return callPart(part.call);
  const { text, signature } = part;
  return { text, thought: true, ...(signature !== undefined && { thoughtSignature: wrapSignature(signature) }) };
}
