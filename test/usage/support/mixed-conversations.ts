import { KEY } from "../../gateway/support/gateway-process.ts";

type Message = Readonly<Record<string, unknown>>;

const TOOLS = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];

/** Numbers that look random and are the same in each run. */
export function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state;
  }
}

interface Kind {
  script(input: number, output: number): string;
  /** The client leaves after the first bytes of the answer. */
  readonly leaves?: boolean;
  /** The client never sends the results of the tool calls. */
  readonly abandons?: boolean;
}

/** Conversations that end in many ways. */
const KINDS: readonly Kind[] = [
  { script: (input, output) => `usage ${input} ${output} ${input >> 1} ;; say hello` },
  { script: (input, output) => `usage ${input} ${output} ;; call look {} ;; say {{result}}` },
  {
    script: (input, output) =>
      `usage ${input} ${output} ;; call look {} ;; say {{result}} ;; call look {} ;; say again`,
  },
  { script: (input, output) => `usage ${input} ${output} ;; fail unavailable times=1 ;; say after a failure` },
  { script: (input) => `say before ;; fault rst ;; say after ${input}` },
  { script: (input) => `say before ;; fault end-without-turn-ended ;; say after ${input}` },
  { script: (input, output) => `usage ${input} ${output} ;; think well ;; say a longer answer with several words` },
  { script: (input) => `say the client leaves ${input} ;; silent 600000 ;; say never`, leaves: true },
  { script: (input) => `call look {} ;; say {{result}} ${input}`, abandons: true },
  { script: (input) => `fail resource_exhausted ${input}` },
  { script: (input) => `say half of an answer ${input} ;; fail internal` },
  { script: (input) => `call look {} ;; say {{result}} and half of an answer ${input} ;; fail internal` },
];

export interface FinishedRequest {
  /** The id of the request in the record. */
  readonly id: string;
  /** When the client had the whole answer, or left. Milliseconds since the epoch. */
  readonly at: number;
}

/** Where the gateway is now; it may be killed and come back elsewhere. */
export interface Target {
  url(): string;
  /** Resolves once it runs. */
  whenUp(): Promise<unknown>;
  onFinished(request: FinishedRequest): void;
}

/** Plays one conversation to its end. A request that a kill has cut off is sent again. */
export async function converse(index: number, next: () => number, target: Target): Promise<void> {
  const kind = KINDS[index % KINDS.length];
  if (!kind) return;
  const script = kind.script(100 + (next() % 5000), 10 + (next() % 500));
  // The number makes each conversation its own.
  const messages: Message[] = [{ role: "user", content: `@sim ${script}\n\nconversation ${index}` }];
  for (let attempt = 0; attempt < 50; ) {
    let answer: Message | undefined;
    try {
      answer = await ask(messages, kind.leaves === true, target);
    } catch {
      // The gateway was killed: the same request goes to the next one.
      attempt++;
      await target.whenUp();
      continue;
    }
    const calls = (answer?.["tool_calls"] ?? []) as { id: string }[];
    if (!answer || calls.length === 0 || kind.abandons) return;
    messages.push(answer, ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "seen" })));
  }
  throw new Error(`conversation ${index} did not come to its end`);
}

async function ask(messages: readonly Message[], leaves: boolean, target: Target): Promise<Message | undefined> {
  const abort = new AbortController();
  const response = await fetch(`${target.url()}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-5.5", messages, tools: TOOLS, stream: leaves }),
    signal: abort.signal,
  });
  const finish = () => target.onFinished({ id: response.headers.get("x-request-id") ?? "", at: Date.now() });
  if (leaves) {
    const read = await response.body?.getReader().read();
    if (read === undefined || read.done) throw new Error("cut off");
    abort.abort();
    finish();
    return undefined;
  }
  const body = (await response.json()) as { choices?: { message: Message }[] };
  finish();
  return body.choices?.[0]?.message;
}
