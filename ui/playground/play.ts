import { effect, signal } from "@preact/signals";
import { asObject, asText } from "../json.ts";
import { send, session } from "../session.ts";
import type { ChatMessage, Dialect, Question } from "./dialects.ts";
import { COMMENT, type RawEvent, readStream } from "./read-stream.ts";

/** A question of a tool to the user, while the answer waits for it. */
export interface ToolQuestion {
  readonly id: string;
  readonly server: string;
  readonly message: string;
  readonly schema: object;
  readonly url: string | undefined;
}

/** One answer, as far as it has arrived. */
export interface Answer {
  readonly text: string;
  readonly thinking: string;
  readonly tools: readonly string[];
  /** What the gateway says about its own tools. */
  readonly notes: readonly string[];
  readonly error: string | undefined;
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
}

export interface Play {
  readonly turns: readonly { readonly asked: ChatMessage; readonly answer: Answer }[];
  readonly events: readonly RawEvent[];
  readonly eventCount: number;
  readonly isRunning: boolean;
  readonly questions: readonly ToolQuestion[];
}

const EMPTY: Play = { turns: [], events: [], eventCount: 0, isRunning: false, questions: [] };
const NO_ANSWER: Answer = {
  text: "",
  thinking: "",
  tools: [],
  notes: [],
  error: undefined,
  firstMs: undefined,
  totalMs: undefined,
};

/** Older events are dropped. */
const MAX_EVENTS = 300;
const MAX_EVENT_CHARS = 4000;
const QUESTION = "excursor-question ";

/** Returns the path of one of the gateway's routes for the session of this page. */
const playPath = (path: string): string => `/play${path}`;

/** The conversation of the playground. It goes on while another page is shown. */
export const play = signal<Play>(EMPTY);

/** Ends the answer that runs. */
const running = signal<AbortController | undefined>(undefined);

/** Asks a model, and adds the answer to the conversation while it arrives. */
export async function ask(
  dialect: Dialect,
  question: Question,
  asked: ChatMessage,
  headers: Record<string, string>,
): Promise<void> {
  const abort = new AbortController();
  running.value = abort;
  const startedAt = performance.now();
  const since = () => Math.round(performance.now() - startedAt);
  const { turns } = play.value;
  let answer = NO_ANSWER;
  let events: RawEvent[] = [];
  let eventCount = 0;
  let questions: readonly ToolQuestion[] = [];
  let frame = 0;
  const show = (isRunning: boolean) => {
    cancelAnimationFrame(frame);
    frame = 0;
    // Another conversation has begun.
    if (running.value !== abort) return;
    play.value = { turns: [...turns, { asked, answer }], events, eventCount, isRunning, questions };
  };
  const add = (event: RawEvent) => {
    eventCount++;
    events = [...events.slice(1 - MAX_EVENTS), { ...event, data: event.data.slice(0, MAX_EVENT_CHARS) }];
    if (event.name === COMMENT) {
      const found = readQuestion(event.data);
      if (found) questions = [...questions, found];
      else answer = { ...answer, notes: [...answer.notes, event.data].slice(-MAX_EVENTS) };
    } else {
      const piece = dialect.read(parse(event.data));
      answer = {
        ...answer,
        text: answer.text + (piece.text ?? ""),
        thinking: answer.thinking + (piece.thinking ?? ""),
        tools: piece.tool === undefined ? answer.tools : [...answer.tools, piece.tool],
        error: piece.error ?? answer.error,
        firstMs: answer.firstMs ?? (piece.text || piece.thinking ? since() : undefined),
      };
    }
    frame ||= requestAnimationFrame(() => show(true));
  };
  show(true);
  try {
    const response = await send("POST", playPath(dialect.path(question.model)), dialect.body(question), {
      headers: { ...headers, "x-excursor-asks": "1" },
      signal: abort.signal,
    });
    for await (const event of readStream(response)) add(event);
    if (!response.ok && answer.error === undefined) answer = { ...answer, error: `Status ${response.status}.` };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    answer = { ...answer, error: abort.signal.aborted ? "Stopped." : text };
  }
  questions = [];
  answer = { ...answer, totalMs: since() };
  show(false);
}

/** Ends the answer that runs. What has arrived of it stays. */
export const stop = (): void => running.value?.abort();

/** Begins another conversation. */
export function clear(): void {
  stop();
  running.value = undefined;
  play.value = EMPTY;
}

/** Answers a question of a tool. */
export async function reply(question: ToolQuestion, given: object): Promise<void> {
  const { questions } = play.value;
  play.value = { ...play.value, questions: questions.filter(({ id }) => id !== question.id) };
  await send("POST", playPath("/excursor/answers"), { id: question.id, ...given });
}

effect(() => {
  if (session.value.type === "none") clear();
});

function readQuestion(comment: string): ToolQuestion | undefined {
  if (!comment.startsWith(QUESTION)) return undefined;
  const { id, server, message, schema, url } = asObject(parse(comment.slice(QUESTION.length)));
  return {
    id: asText(id) ?? "",
    server: asText(server) ?? "",
    message: asText(message) ?? "",
    schema: asObject(schema),
    url: asText(url),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
