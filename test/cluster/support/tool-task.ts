import OpenAI from "openai";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { answersTo, callsOf, type Messages, TOOLS } from "../../gateway/support/tool-client.ts";

export interface TaskOptions {
  /** Of the balancer. */
  readonly url: string;
  /** Different for each task. */
  readonly id: string;
  /** How many of the client's tools the model calls, one after the other. */
  readonly tools: number;
  /** Returns how long a tool takes. Default: no time. */
  readonly toolMs?: () => number;
}

export interface TaskOutcome {
  /** Different calls that the client ran. */
  readonly calls: number;
  /** Calls that the client was asked to run twice, by what they ask for. */
  readonly doubled: number;
  /** Requests that had no complete answer in {@link HUNG_MS}. */
  readonly hung: number;
  /** The longest that a request took, in ms. */
  readonly slowest: number;
  /** Why requests were sent again: their answers were cut or refused. */
  readonly errors: readonly string[];
}

const MAX_RETRIES = 120;

/** Far longer than a frozen gateway is waited for, and than a request takes on a busy machine. */
const HUNG_MS = 240_000;

/** The calls of the hub that the model makes in one task, by what they note. */
export const notesOf = ({ id, tools }: Pick<TaskOptions, "id" | "tools">): readonly string[] =>
  Array.from({ length: Math.ceil(tools / 3) }, (_, index) => `${id}.${3 * index}`);

/** Each third call of the client is preceded by one that the hub makes. */
function promptOf(options: TaskOptions): string {
  const notes = new Set(notesOf(options));
  const steps = Array.from({ length: options.tools }, (_, step) => {
    const at = `${options.id}.${step}`;
    return `${notes.has(at) ? `call notes__note {"of":"${at}"} ;; wait ;; ` : ""}call look {"at":"${at}"} ;; wait`;
  });
  return `@sim ${steps.join(" ;; ")} ;; say done`;
}

/** Plays one task as an agent does: it runs what it is asked for, and sends a request again if its answer was cut. */
export async function playTask(options: TaskOptions): Promise<TaskOutcome> {
  const client = new OpenAI({ baseURL: `${options.url}/v1`, apiKey: KEY, maxRetries: 0 });
  const messages: Messages = [{ role: "user", content: promptOf(options) }];
  const ran = new Map<string, number>();
  const errors: string[] = [];
  let hung = 0;
  let slowest = 0;
  for (;;) {
    const begun = performance.now();
    const answer = await ask(client, messages).catch(async (error: unknown) => {
      if (error instanceof OpenAI.APIUserAbortError) hung++;
      errors.push(String(error));
      if (errors.length > MAX_RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
      return undefined;
    });
    if (!answer) continue;
    slowest = Math.max(slowest, performance.now() - begun);
    const calls = callsOf(answer);
    for (const { at } of calls) ran.set(at, (ran.get(at) ?? 0) + 1);
    messages.push(answer, ...answersTo(answer));
    if (calls.length > 0) {
      if (options.toolMs) await new Promise((resolve) => setTimeout(resolve, options.toolMs?.()));
      continue;
    }
    if (answer.content !== "done") throw new Error(`unexpected answer: ${answer.content}`);
    const doubled = [...ran.values()].filter((times) => times > 1).length;
    return { calls: ran.size, doubled, hung, slowest, errors };
  }
}

/** Asks for a streamed answer. Rejects if it is cut, or takes too long. */
async function ask(client: OpenAI, messages: Messages): Promise<OpenAI.ChatCompletionMessage> {
  const stream = client.chat.completions.stream(
    { model: "gpt-5.5", messages, tools: TOOLS },
    { signal: AbortSignal.timeout(HUNG_MS) },
  );
  const completion = await stream.finalChatCompletion();
  const [choice] = completion.choices;
  if (!choice?.finish_reason) throw new Error("the answer was cut");
  return choice.message;
}
