import { setTimeout as wait } from "node:timers/promises";
import type { Answer, DialectAdapter, Said } from "../../gateway/support/dialect.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";

export interface TaskOptions {
  /** Of the balancer. */
  readonly url: string;
  /** Different for each task. It is also the conversation, for a balancer that keeps those together. */
  readonly id: string;
  readonly dialect: DialectAdapter;
  /** How many of the client's tools the model calls, one after the other. */
  readonly tools: number;
  /** Returns how long a tool takes. */
  readonly toolMs: () => number;
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
  /** Stored answers that were said to be unknown. */
  readonly unknown: number;
  /** Why requests were sent again: their answers were cut or refused. */
  readonly errors: readonly string[];
}

const MAX_RETRIES = 240;

/** Far longer than a frozen gateway is waited for, and than a request takes on a busy machine. */
const HUNG_MS = 60_000;

const LOOK = { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } };

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

/** Sends requests as a program of others does: again if the answer was cut or is to be asked for again. */
class Sender {
  readonly errors: string[] = [];
  hung = 0;
  slowest = 0;
  readonly #options: TaskOptions;

  constructor(options: TaskOptions) {
    this.#options = options;
  }

  /** Throws what another attempt does not change. */
  async send<T>(path: string, body: object, read: (text: string) => T | undefined): Promise<T> {
    const { url, id, dialect } = this.#options;
    for (;;) {
      const begun = performance.now();
      try {
        const response = await fetch(url + path, {
          method: "POST",
          headers: { "content-type": "application/json", "x-session-id": id, ...dialect.headers(KEY) },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(HUNG_MS),
        });
        const text = await response.text();
        if (response.status === 400 || response.status === 404) throw new Refused(`${response.status}: ${text}`);
        const answer = response.ok ? read(text) : undefined;
        if (answer === undefined) throw new Error(`${response.status}: ${response.ok ? "the answer was cut" : text}`);
        this.slowest = Math.max(this.slowest, performance.now() - begun);
        return answer;
      } catch (error) {
        if (error instanceof Refused) throw error;
        if (performance.now() - begun >= HUNG_MS) this.hung++;
        this.errors.push(String(error).replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "ID"));
        if (this.errors.length > MAX_RETRIES) throw error;
        await wait(250);
      }
    }
  }
}

class Refused extends Error {}

/** Plays one task as an agent does: it runs what it is asked for, and sends a request again if its answer was cut. */
export async function playTask(options: TaskOptions): Promise<TaskOutcome> {
  const { dialect, toolMs } = options;
  const sender = new Sender(options);
  const messages: Said[] = [{ type: "user", text: promptOf(options) }];
  const ran = new Map<string, number>();
  for (;;) {
    const question = { model: "gpt-5.5", messages, tools: [LOOK] };
    const answer = await sender.send(
      dialect.path(question, true),
      dialect.body(question, true),
      (text): Answer | undefined => {
        const read = dialect.streamed(text);
        return read.finish === undefined || read.error !== undefined ? undefined : read;
      },
    );
    for (const { args } of answer.calls) {
      const at = String((args as { at?: unknown }).at);
      ran.set(at, (ran.get(at) ?? 0) + 1);
    }
    if (answer.calls.length === 0) {
      if (answer.text.trim() !== "done") throw new Error(`unexpected answer: ${answer.text}`);
      const doubled = [...ran.values()].filter((times) => times > 1).length;
      return {
        calls: ran.size,
        doubled,
        unknown: 0,
        hung: sender.hung,
        slowest: sender.slowest,
        errors: sender.errors,
      };
    }
    const results = answer.calls.map(({ id, name }) => ({ id, name, text: "seen" }));
    messages.push({ type: "answer", answer }, { type: "results", results });
    await wait(toolMs());
  }
}

/** Plays a conversation whose requests refer to the stored answer before. It begins anew where that is unknown. */
export async function playStored(options: TaskOptions): Promise<TaskOutcome> {
  const sender = new Sender(options);
  let previous: string | undefined;
  let unknown = 0;
  for (let turn = 0; turn < options.tools; turn++) {
    const body = {
      model: "gpt-5.5",
      input: `@sim say ${options.id}.${turn}`,
      ...(previous !== undefined && { previous_response_id: previous }),
    };
    try {
      previous = await sender.send("/v1/responses", body, (text) => String((JSON.parse(text) as { id: unknown }).id));
    } catch (error) {
      if (!(error instanceof Refused) || previous === undefined) throw error;
      unknown++;
      previous = undefined;
    }
    await wait(options.toolMs());
  }
  return { calls: 0, doubled: 0, unknown, hung: sender.hung, slowest: sender.slowest, errors: sender.errors };
}
