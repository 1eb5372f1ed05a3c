/**
 * A dialect as the suite in `every-face.test.ts` sees it: how a question is put in it, and how its answers are read. A
 * new face joins the suite by one of these, in `dialects/`, listed in its `index.ts`.
 */
export interface DialectAdapter {
  readonly name: string;
  /** Why what is not in the dialect cannot be asked for in it, or is not told. */
  readonly lacks?: { readonly stop?: string; readonly cached?: string; readonly needsMessages?: string };
  /** Where the schema of an answer is. */
  readonly schemaField: string;
  /** Wrong values of fields that the dialect has, each with the field that errors name. */
  readonly mistakes: readonly { readonly fields: object; readonly field: string }[];
  /** The status of what others answer with the key, where the dialect documents another. */
  readonly statuses?: Readonly<Record<number, number>>;
  /** Where it is asked. */
  path(question: Question, isStream: boolean): string;
  headers(key: string): Readonly<Record<string, string>>;
  body(question: Question, isStream: boolean): object;
  /** A whole answer. */
  answer(body: unknown): Answer;
  /** A streamed one, possibly cut short. Throws where the events are not in the order that clients need. */
  streamed(stream: string): Answer;
  /** What an error body says. Throws if it has not the shape of the dialect, or if its type does not fit the status. */
  error(body: unknown, status: number): { readonly message: string };
}

export interface Question {
  readonly model?: string;
  readonly system?: string;
  readonly messages: readonly Said[];
  readonly tools?: readonly { readonly name: string; readonly parameters: object }[];
  readonly effort?: "low" | "high";
  readonly stop?: string;
  readonly maxTokens?: number;
  /** JSON schema of the answer. */
  readonly schema?: object;
}

export type Said =
  /** `image` is a data URL. */
  | { readonly type: "user"; readonly text: string; readonly image?: string }
  | { readonly type: "answer"; readonly answer: Pick<Answer, "echo"> }
  | { readonly type: "results"; readonly results: readonly Result[] };

interface Result {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

export interface Answer {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[];
  /** Undefined if it has not come to its end. */
  readonly finish: "stop" | "length" | "calls" | undefined;
  readonly usage: { readonly input: number; readonly cached?: number; readonly output: number } | undefined;
  /** Of an error event. */
  readonly error: string | undefined;
  /** The answer as the dialect's own clients send it back. */
  readonly echo: unknown;
}

export interface ServerEvent {
  /** The `event:` line, if there was one. */
  readonly event: string | undefined;
  readonly data: string;
}

/** Throws unless an error body has the type that the dialect has for a status. Statuses that are not listed may have any. */
export function checkType(type: unknown, status: number, types: Readonly<Record<number, string>>): void {
  const expected = types[status];
  if (typeof type !== "string" || (expected !== undefined && type !== expected))
    throw new Error(`An error of the type ${type}, with the status ${status}.`);
}

/** Events by the rules of the specification, as far as anybody uses them. */
export function readEvents(stream: string): ServerEvent[] {
  const blocks = stream.split("\n\n");
  if (blocks.pop() !== "") throw new Error("The last event is not closed.");
  return blocks.flatMap((block) => {
    const lines = block.split("\n").filter((line) => !line.startsWith(":"));
    if (lines.length === 0) return [];
    const fieldOf = (field: string) => lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2);
    const data = fieldOf("data");
    if (data === undefined) throw new Error(`An event without data: ${block}`);
    return [{ event: fieldOf("event"), data }];
  });
}
