import type OpenAI from "openai";
import { answersTo, callsOf, type Messages, TOOLS } from "../../gateway/support/tool-client.ts";

/** Five tools, two of them at once, then one, then two; text before, between and after. */
const SCRIPT =
  '@sim say begin ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say then ;; call look {"at":"c"} ;; wait ;; ' +
  'call look {"at":"d"} ;; call look {"at":"e"} ;; ' +
  "say {{result.0}} {{result.1}} {{result.2}} {{result.3}} {{result.4}}";

const EXPECTED = "saw a saw b saw c saw d saw e";
const MAX_FAILURES = 4;
const HANG_MS = 15_000;

export interface TaskReport {
  /** Requests that failed, and were sent again. */
  readonly failures: string[];
  /** What went wrong that must never go wrong. */
  readonly wrongs: string[];
}

/**
 * A client that does the whole task: what fails it asks again, as it was. `onRequest` is given what ends the request
 * under way from the client's side.
 */
export async function runTask(client: OpenAI, onRequest: (leave: () => void) => void): Promise<TaskReport> {
  const messages: Messages = [{ role: "user", content: SCRIPT }];
  const answered = new Set<string>();
  const failures: string[] = [];
  const wrongs: string[] = [];
  while (failures.length <= MAX_FAILURES) {
    const gone = new AbortController();
    onRequest(() => gone.abort());
    const hang = setTimeout(() => {
      wrongs.push("a request hung");
      gone.abort();
    }, HANG_MS);
    try {
      const stream = client.chat.completions.stream(
        { model: "gpt-5.5", messages, tools: TOOLS },
        { signal: gone.signal },
      );
      const message = (await stream.finalChatCompletion()).choices[0]?.message;
      if (!message) throw new Error("an answer without a message");
      const calls = callsOf(message);
      for (const { at } of calls) if (answered.has(at)) wrongs.push(`asked again for ${at}`);
      if (calls.length === 0) {
        if (!message.content?.endsWith(EXPECTED)) wrongs.push(`lost results: ${message.content}`);
        return { failures, wrongs };
      }
      for (const { at } of calls) answered.add(at);
      messages.push({ role: "assistant", content: message.content, tool_calls: message.tool_calls ?? [] });
      messages.push(...answersTo(message));
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(hang);
    }
  }
  return { failures, wrongs: [...wrongs, `never done: ${failures.join(" | ")}`] };
}
