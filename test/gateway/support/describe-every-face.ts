import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { isGivenUp } from "../../sim/support/given-up.ts";
import type { Answer, DialectAdapter, Question, Said } from "./dialect.ts";
import { DIALECTS } from "./dialects/index.ts";
import { KEY } from "./gateway-process.ts";

const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const LOOK = { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } };

const INTERRUPTED = '@sim call look {"at":"a"} ;; say {{result}} {{reused}}';
const DEEP = { name: "deep", parameters: { type: "object", properties: { a: deepSchema(40) } } };

function deepSchema(levels: number): object {
  return levels === 0 ? { type: "string" } : { items: deepSchema(levels - 1) };
}

const user = (text: string, image?: string): Said => ({ type: "user", text, ...(image !== undefined && { image }) });
const answered = (answer: Pick<Answer, "echo">): Said => ({ type: "answer", answer });
const results = ({ calls }: Answer): Said => ({
  type: "results",
  results: calls.map(({ id, name, args }) => ({ id, name, text: `saw ${(args as { at: string }).at}` })),
});

interface PostOptions {
  readonly key?: string;
  readonly signal?: AbortSignal;
  /** What the path depends on in some dialects. */
  readonly question?: Question;
  readonly isStream?: boolean;
}

/** Asks in a dialect, streamed or whole. */
class Client {
  readonly #dialect: DialectAdapter;
  readonly #url: string;

  constructor(dialect: DialectAdapter, url: string) {
    this.#dialect = dialect;
    this.#url = url;
  }

  async ask(question: Question, isStream: boolean): Promise<Answer> {
    const response = await this.post(JSON.stringify(this.#dialect.body(question, isStream)), { question, isStream });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    return isStream ? this.#dialect.streamed(text) : this.#dialect.answer(JSON.parse(text));
  }

  /** What is refused: the status and the error, in the dialect's shape. */
  async refusal(body: string, options: PostOptions = {}) {
    const response = await this.post(body, options);
    const { message } = this.#dialect.error(await response.json(), response.status);
    return { status: response.status, headers: response.headers, message };
  }

  post(body: string, { key = KEY, signal, question = { messages: [] }, isStream = false }: PostOptions = {}) {
    return fetch(`${this.#url}${this.#dialect.path(question, isStream)}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...this.#dialect.headers(key) },
      body,
      ...(signal && { signal }),
    });
  }
}

/** What the suite runs against: gateways in front of a simulated backend. */
interface FaceStage {
  readonly trace: TraceEntry[];
  /** Where clients ask. */
  readonly url: string;
  /** Starts one more gateway, which shares the state of the others. */
  startOther(): Promise<{ readonly url: string; stop(): Promise<unknown> }>;
}

export type SetUpStage = (hostConfig: "h2" | "h1", defer: (cleanup: () => unknown) => void) => Promise<FaceStage>;

/** The scenarios that hold for every dialect, over both transports to the backend. */
export function describeEveryFace(setUp: SetUpStage): void {
  describe.each(["h2", "h1"] as const)("backend over %s:", (hostConfig) => {
    const cleanups: (() => unknown)[] = [];
    const interrupted = new Map<string, Answer>();
    let stage: FaceStage;
    let url: string;

    beforeAll(async () => {
      stage = await setUp(hostConfig, (cleanup) => cleanups.push(cleanup));
      ({ url } = stage);
      // One gateway for all of these: its runs are parked when it stops.
      const other = await stage.startOther();
      for (const dialect of DIALECTS) {
        for (const isStream of [false, true]) {
          const question: Question = { messages: [user(INTERRUPTED)], tools: [LOOK] };
          interrupted.set(`${dialect.name} ${isStream}`, await new Client(dialect, other.url).ask(question, isStream));
        }
      }
      await other.stop();
    }, 60_000);
    afterAll(async () => {
      for (const cleanup of cleanups.reverse()) await cleanup();
    });
    beforeEach(() => {
      stage.trace.length = 0;
    });
    const traced = (...kinds: string[]) => stage.trace.filter(({ kind }) => kinds.includes(kind)).length;

    describe.each(DIALECTS)("$name", (dialect) => {
      let client: Client;
      beforeAll(() => {
        client = new Client(dialect, url);
      });
      const body = (question: Question, over: object = {}, isStream = false) =>
        JSON.stringify({ ...dialect.body(question, isStream), ...over });

      describe.each([false, true])("streamed: %s", (isStream) => {
        const ask = (question: Question) => client.ask(question, isStream);
        const askFor = (...messages: Said[]) => ask({ messages });

        it("the backend receives what the client sent, and the client what the backend said", async () => {
          const first = await askFor(user("@sim say hello wide\\nworld"));
          expect(first).toMatchObject({ text: "hello wide\nworld", thinking: "", calls: [], finish: "stop" });
          const { text } = await ask({
            system: "Be brief.",
            messages: [
              user("@sim say hello wide\\nworld"),
              answered(first),
              user("@sim say {{system}}|{{history}}|{{images}}|{{tools}}|{{reused}}", PNG),
            ],
            tools: [LOOK],
          });
          const history = "user: @sim say hello wide\\nworld\nassistant: hello wide\\nworld";
          expect(text.split("|")).toEqual(["Be brief.", history, "1 image/png:70", "look", "checkpoint"]);
        });

        it("thinking is apart from the text, and a conversation goes on that brings it back", async () => {
          const question = user("@sim think let me see ;; say so ;; think and then ;; say it is");
          const first = await askFor(question);
          expect(first).toMatchObject({ text: "soit is", thinking: "let me seeand then" });
          const second = await askFor(question, answered(first), user("@sim say {{reused}}"));
          expect(second.text).toBe("checkpoint");
        });

        it("usage is what the backend reports, or an estimate", async () => {
          const { usage } = await askFor(user("@sim usage 100 20 5 ;; say counted"));
          expect(usage).toEqual({ input: 100, output: 20, ...(!dialect.lacks?.cached && { cached: 5 }) });
          const { usage: estimate } = await askFor(user("@sim say some words ;; fault no-usage"));
          expect(estimate?.input).toBeGreaterThan(0);
          expect(estimate?.output).toBeGreaterThan(0);
        });

        it("effort chooses among what the model offers", async () => {
          const { text } = await ask({ messages: [user("@sim say {{model}}")], effort: "high" });
          expect(text).toMatch(/^gpt-5\.5(-high| .*=high)/);
        });

        it("two calls at once are answered by their results, on the same upstream stream", async () => {
          const prompt =
            '@sim say first ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say {{result.0}} {{result.1}} {{reused}}';
          const first = await ask({ messages: [user(prompt)], tools: [LOOK] });
          expect(first).toMatchObject({ text: "first", finish: "calls" });
          expect(first.calls.map(({ name, args }) => [name, args])).toEqual([
            ["look", { at: "a" }],
            ["look", { at: "b" }],
          ]);
          const messages = [user(prompt), answered(first), results(first)];
          const second = await ask({ messages, tools: [LOOK] });
          expect([second.text, second.finish]).toEqual(["saw a saw b stream", "stop"]);
          expect(traced("run_request")).toBe(1);
          const third = await ask({
            messages: [...messages, answered(second), user("@sim say {{reused}}")],
            tools: [LOOK],
          });
          expect(third.text).toBe("checkpoint");
        });

        it("calls one after the other, with thinking between them, pay one beginning", async () => {
          const steps = ["a", "b", "c"].map((at) => `think about ${at} ;; call look {"at":"${at}"} ;; wait`);
          const messages = [user(`@sim ${steps.join(" ;; ")} ;; say done {{reused}}`)];
          let answer = await ask({ messages, tools: [LOOK] });
          while (answer.finish === "calls") {
            messages.push(answered(answer), results(answer));
            answer = await ask({ messages, tools: [LOOK] });
          }
          expect([answer.text, messages.length]).toEqual(["done stream", 7]);
          expect(traced("run_request")).toBe(1);
        });

        it("results that come after a restart resume the turn from its suspended checkpoint", async () => {
          const first = interrupted.get(`${dialect.name} ${isStream}`);
          if (!first) throw new Error("no answer before the restart");
          const messages = [user(INTERRUPTED), answered(first), results(first)];
          expect((await ask({ messages, tools: [LOOK] })).text).toBe("saw a stream");
        });

        it.skipIf(dialect.lacks?.stop)("a stop sequence ends the answer, and the upstream", async () => {
          const stopped = await ask({
            messages: [user("@sim say one two three four ;; silent 60000")],
            stop: "three",
          });
          expect([stopped.text, stopped.finish]).toEqual(["one two ", "stop"]);
          await expect.poll(() => stage.trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
        });

        it("the number of tokens ends the answer, and the upstream", async () => {
          const short = await ask({ messages: [user("@sim tokens 500 0 ;; silent 60000")], maxTokens: 10 });
          expect(short.finish).toBe("length");
          expect(short.text.length).toBe(40);
          await expect.poll(() => stage.trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
        });

        it("JSON fits its schema, or is none", async () => {
          const schema = {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: false,
          };
          const { text } = await ask({ messages: [user('@sim say ```json\\n{"city": "Bern"}\\n```')], schema });
          expect(JSON.parse(text)).toEqual({ city: "Bern" });
          await expect(ask({ messages: [user("@sim say no city")], schema })).rejects.toThrow(/^502/);
        });

        it("a stream that drops is resumed from its checkpoint, unseen", async () => {
          expect((await askFor(user("@sim say one ;; fault rst ;; say two"))).text).toBe("onetwo");
        });

        it("an error before the first token has its status", async () => {
          const question: Question = {
            messages: [user("@sim fail resource_exhausted ERROR_RATE_LIMITED retry=7 slow")],
          };
          const limited = await client.refusal(body(question, {}, isStream), { isStream });
          expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
          const failed = await client.refusal(body({ messages: [user("@sim fail unavailable")] }, {}, isStream), {
            isStream,
          });
          expect(failed.status).toBe(dialect.statuses?.[503] ?? 503);
          const other: Question = { model: "gpt-5.6", messages: [user("hi")] };
          const unknown = await client.refusal(body(other, {}, isStream), { question: other, isStream });
          expect(unknown).toMatchObject({ status: 404, message: expect.stringContaining("gpt-5.5") });
        });

        it("a client that leaves takes its question with it", async () => {
          const abort = new AbortController();
          const question: Question = { messages: [user("@sim say a ;; silent 60000")] };
          const asked = client.post(body(question, {}, isStream), { signal: abort.signal, isStream });
          asked.catch(() => {});
          await expect.poll(() => traced("run_request")).toBe(1);
          abort.abort();
          await expect.poll(() => stage.trace.filter(isGivenUp).length, { timeout: 5000 }).toBe(1);
        });
      });

      it("an upstream that fails in the middle is an error, and no sign of success follows", async () => {
        const question: Question = { messages: [user("@sim say shown ;; fail internal went wrong")] };
        const answer = await client.ask(question, true);
        expect(answer).toMatchObject({
          text: "shown",
          finish: undefined,
          error: expect.stringContaining("went wrong"),
        });
        const { status, message } = await client.refusal(body(question));
        expect(status).toBeGreaterThanOrEqual(500);
        expect(message).toContain("went wrong");
      });

      it.each<[string, (question: Question) => string, number]>([
        ["no JSON", () => "{", 400],
        ["a list", () => "[]", 400],
        ["a wrong type", (question) => body(question, dialect.mistakes[0]?.fields), 400],
        ["a wrong type where it counts", (question) => body(question, dialect.mistakes[1]?.fields), 400],
        [
          "a result of no call",
          () => body({ messages: [user("a"), { type: "results", results: [{ id: "x", name: "look", text: "" }] }] }),
          400,
        ],
        ["a schema that is none", (question) => body({ ...question, schema: { type: "no such type" } }), 400],
        ["a tool nested too deep", (question) => body({ ...question, tools: [LOOK, DEEP] }), 400],
        ["too many bytes", (question) => `${body(question)}${" ".repeat(33 * 1024 * 1024)}`, 413],
      ])("%s is refused in the dialect's own shape", async (_, make, expected) => {
        const { status, message } = await client.refusal(make({ messages: [user("@sim say hi")] }));
        expect(status).toBe(dialect.statuses?.[expected] ?? expected);
        expect(message).not.toBe("");
        expect(traced("run_request")).toBe(0);
      });

      it.skipIf(dialect.lacks?.needsMessages)("no messages are refused in the dialect's own shape", async () => {
        expect(await client.refusal(body({ messages: [] }))).toMatchObject({
          status: 400,
          message: expect.any(String),
        });
        expect(traced("run_request")).toBe(0);
      });

      it("fields that nobody knows are ignored", async () => {
        const extra = { nobody_knows: { this: ["field"] }, metadata: { user_id: "u" }, service_tier: "auto" };
        const response = await client.post(body({ messages: [user("@sim say hi")] }, extra));
        expect(dialect.answer(await response.json()).text).toBe("hi");
      });

      it("a wrong key is turned away in the dialect's own shape", async () => {
        const { status } = await client.refusal(body({ messages: [user("hi")] }), { key: "a-wrong-key" });
        expect(status).toBe(401);
      });
    });
  });
}
