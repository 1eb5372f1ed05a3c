import OpenAI from "openai";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { answersTo, callsOf, type Messages, TOOLS } from "../../gateway/support/tool-client.ts";

export interface TaskOptions {
  /** Of the balancer. */
  readonly url: string;
  readonly id: number;
  /** How many tools the model calls, one after the other. */
  readonly tools: number;
}

export interface TaskOutcome {
  /** Different calls that the client ran. */
  readonly calls: number;
  /** Calls that the client was asked to run twice, by what they ask for. */
  readonly doubled: number;
  /** Why requests were sent again: their answers were cut or refused. */
  readonly errors: readonly string[];
}

const MAX_RETRIES = 60;

/** Plays one task as an agent does: it runs what it is asked for, and sends a request again if its answer was cut. */
export async function playTask({ url, id, tools }: TaskOptions): Promise<TaskOutcome> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
  const steps = Array.from({ length: tools }, (_, step) => `call look {"at":"${id}.${step}"} ;; wait`);
  const messages: Messages = [{ role: "user", content: `@sim ${steps.join(" ;; ")} ;; say done` }];
  const ran = new Map<string, number>();
  const errors: string[] = [];
  for (;;) {
    const answer = await ask(client, messages).catch(async (error: unknown) => {
      errors.push(String(error));
      if (errors.length > MAX_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
      return undefined;
    });
    if (!answer) continue;
    const calls = callsOf(answer);
    for (const { at } of calls) ran.set(at, (ran.get(at) ?? 0) + 1);
    messages.push(answer, ...answersTo(answer));
    if (calls.length > 0) continue;
    if (answer.content !== "done") throw new Error(`unexpected answer: ${answer.content}`);
    return {
      calls: ran.size,
      doubled: [...ran.values()].filter((times) => times > 1).length,
      errors,
    };
  }
}

/** Asks for a streamed answer. Rejects if it is cut. */
async function ask(client: OpenAI, messages: Messages): Promise<OpenAI.ChatCompletionMessage> {
  const stream = client.chat.completions.stream({ model: "gpt-5.5", messages, tools: TOOLS });
  const completion = await stream.finalChatCompletion();
  const [choice] = completion.choices;
  if (!choice?.finish_reason) throw new Error("the answer was cut");
  return choice.message;
}
