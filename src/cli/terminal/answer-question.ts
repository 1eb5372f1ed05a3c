import type { Elicit, Elicitation } from "../../core/hub/tool-hub.ts";
import type { GatewayClient } from "../gateway-client.ts";
import { askOnTerminal } from "./ask-on-terminal.ts";

const QUESTION = "excursor-question ";

interface AnswerOptions {
  readonly signal: AbortSignal;
  readonly onAsk: () => void;
  readonly ask?: Elicit;
}

/** If a comment of the gateway is a question, asks the user and sends the answer back. Returns false if it is none. */
export async function answerQuestion(
  comment: string,
  gateway: GatewayClient,
  { signal, onAsk, ask = askOnTerminal }: AnswerOptions,
): Promise<boolean> {
  if (!comment.startsWith(QUESTION)) return false;
  const { id, ...question } = JSON.parse(comment.slice(QUESTION.length)) as Elicitation & { readonly id: string };
  onAsk();
  const answer = await ask(question, signal);
  // Ignores errors: the tool may have continued without an answer.
  await gateway.call("/excursor/answers", { body: { id, ...answer }, signal }).catch(() => {});
  return true;
}
