import type { Socket } from "node:net";
import { NUMBER_DIGITS, type Plan, writeNumber } from "./plan.ts";

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

const message = { id: "msg_1", type: "message", role: "assistant", content: [], usage: { input_tokens: 1 } };
const START =
  event("message_start", { message }) +
  event("content_block_start", { index: 0, content_block: { type: "thinking", thinking: "", signature: "" } });
/** The change from thinking to text. */
const TURN =
  event("content_block_delta", { index: 0, delta: { type: "signature_delta", signature: "c2lnbmVk" } }) +
  event("content_block_stop", { index: 0 }) +
  event("content_block_start", { index: 1, content_block: { type: "text", text: "" } });
const END =
  event("content_block_stop", { index: 1 }) +
  event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } }) +
  event("message_stop");

const tokenEvent = (index: number, delta: object) => event("content_block_delta", { index, delta });
const THINKING = tokenEvent(0, { type: "thinking_delta", thinking: "@@@@" });
const TEXT = tokenEvent(1, { type: "text_delta", text: "@@@@" });

const STEP = 128;

/**
 * Sends streams of Anthropic's API as fast as they are read. The first half of the tokens is thinking, the second is
 * text.
 */
export class MessagesPeer {
  #waiting: (() => void)[] = [];

  async answer(socket: Socket, { tokens, together }: Required<Plan>): Promise<void> {
    const half = Math.floor(tokens / 2);
    socket.write(`${HEAD}${chunk(START)}${chunk(numbered(THINKING, 0, 1))}`);
    await this.#gather(together);
    for (let at = 1; at < tokens && !socket.destroyed; ) {
      const isThought = at < half;
      const to = Math.min(at + STEP, isThought ? half : tokens);
      const isGoing = socket.write(chunk((at === half ? TURN : "") + numbered(isThought ? THINKING : TEXT, at, to)));
      at = to;
      if (!isGoing) await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
    }
    socket.write(`${chunk(END)}0\r\n\r\n`);
  }

  #gather(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length < count) return;
      for (const go of this.#waiting.splice(0)) go();
    });
  }
}

function numbered(template: string, from: number, to: number): string {
  const bytes = Buffer.from(template.repeat(to - from));
  const at = template.indexOf("@@@@");
  for (let number = from; number < to; number++) {
    writeNumber(number, NUMBER_DIGITS, bytes, (number - from) * template.length + at);
  }
  return bytes.toString("latin1");
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
