import type { ClientDialect } from "../../client-config/client-recipe.ts";
import { type GatewayClient, messageError } from "../gateway-client.ts";
import { readEvents } from "../read-events.ts";
import { chat } from "./chat.ts";
import type { ClientAnswer, ClientCall, ClientQuestion, QuestionFormat } from "./client-question.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

const FORMATS: Readonly<Record<ClientDialect, QuestionFormat>> = { chat, responses, messages, gemini };

export const dialectTitle = (dialect: ClientDialect): string => FORMATS[dialect].title;

/** Streams one real question in this dialect, as a client would. Throws unless the answer is complete. */
export async function askInDialect(
  dialect: ClientDialect,
  gateway: GatewayClient,
  question: ClientQuestion,
  signal: AbortSignal,
): Promise<ClientAnswer> {
  const { path, body, read, isLast } = FORMATS[dialect];
  const response = await gateway.call(path(question.model), { body: body(question), signal });
  let [text, thinking] = ["", ""];
  const calls: ClientCall[] = [];
  for await (const event of readEvents(response, isLast)) {
    const error = messageError("upstream-failed", event);
    if (error) throw error;
    for (const part of read(event)) {
      text += part.text ?? "";
      thinking += part.thinking ?? "";
      if (part.call) calls.push({ ...part.call, args: "" });
      const open = calls.pop();
      if (open) calls.push({ ...open, args: open.args + (part.args ?? "") });
    }
  }
  return { text, thinking, calls };
}
