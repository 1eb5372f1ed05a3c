import type { Answer, Said } from "../../gateway/support/dialect.ts";
import type { Asker } from "./asker.ts";
import { DIALECT_SCENARIOS } from "./dialect-scenarios.ts";

export interface Scenario {
  readonly name: string;
  /** True if the gateway refuses what is asked, and must. */
  readonly isRefused?: boolean;
  run(asker: Asker): Promise<unknown>;
}

/** What is asked: a script of our simulator, or the same in words for a model. Without words it needs the simulator. */
export type Prompt = (script: string, words?: string) => string;

const LOOK = { name: "look", parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] } };
const IDLE = { name: "idle", parameters: { type: "object", properties: {} } };
const SCHEMA = {
  type: "object",
  properties: { a: { type: "number" } },
  required: ["a"],
  additionalProperties: false,
};
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const FAILURES = [
  ...["unavailable busy", "resource_exhausted slow", "resource_exhausted ERROR_RATE_LIMITED retry=30 slow"],
  ...[
    "resource_exhausted ERROR_USAGE_PRICING_REQUIRED pay",
    "unauthenticated who",
    "permission_denied no",
    "not_found gone",
  ],
  ...["deadline_exceeded late", "internal broken", "invalid_argument wrong", "out_of_range far", "unimplemented never"],
  ...[
    "canceled enough",
    "data_loss half",
    "failed_precondition ERROR_DEPRECATED old",
    "unavailable ERROR_OUTDATED_CLIENT old",
  ],
];

const user = (text: string, image?: string): Said => ({ type: "user", text, ...(image !== undefined && { image }) });
const resultsOf = ({ calls }: Answer): Said => ({
  type: "results",
  results: calls.map(({ id, name }) => ({ id, name, text: "seen" })),
});

/** All scenarios of a dialect; for another gateway, those that a model can answer. */
export function scenariosOf(dialect: string, isOwn: boolean): readonly Scenario[] {
  const shared = [false, true].flatMap((isStream) => sharedScenarios(isOwn, isStream));
  const own = DIALECT_SCENARIOS[dialect]?.((script, words) => (isOwn ? `@sim ${script}` : (words ?? "")), isOwn) ?? [];
  return [...shared, ...own];
}

function sharedScenarios(isOwn: boolean, isStream: boolean): readonly Scenario[] {
  const how = isStream ? "streamed" : "whole";
  const one = (name: string, run: Scenario["run"], isRefused = false): Scenario => ({
    name: `${name}, ${how}`,
    isRefused,
    run,
  });
  const prompt: Prompt = (script, words = "") => (isOwn ? `@sim ${script}` : words);
  const say = user(prompt("say hello wide\\nworld", "Say hello."));
  const call = user(
    prompt('think so ;; call look {"at":"x"} ;; say {{result}}', "Call the tool `look` at x, then say what it saw."),
  );
  const both = user(
    prompt(
      'say ok ;; call look {"at":"a"} ;; call look {"at":"b"} ;; say done',
      "Call the tool `look` twice at once, at a and at b.",
    ),
  );
  const called = async (asker: Asker, question: Said) => {
    const first = await asker.ask({ messages: [question], tools: [LOOK] }, isStream);
    if (!first?.calls.length) return;
    const told: Said = { type: "answer", answer: first };
    await asker.ask({ messages: [question, told, resultsOf(first)], tools: [LOOK] }, isStream);
  };
  const models = [
    one("text", (asker) => asker.ask({ messages: [say] }, isStream)),
    one("a conversation with instructions and a picture", async (asker) => {
      const first = await asker.ask({ messages: [say] }, isStream);
      if (!first) return;
      const more: readonly Said[] = [{ type: "answer", answer: first }, user(prompt("say again", "Again."), PNG)];
      await asker.ask({ system: "Be brief.", messages: [say, ...more] }, isStream);
    }),
    one("a call and its result", (asker) => called(asker, call)),
    one("parallel calls after text", (asker) => called(asker, both)),
    one("a call without arguments", (asker) =>
      asker.ask({ messages: [user(prompt("call idle", "Call the tool `idle`."))], tools: [IDLE] }, isStream),
    ),
    one("thinking", (asker) => {
      const question = user(
        prompt("think let me see ;; say so ;; think and then ;; say it is", "Think, then say hello."),
      );
      return asker.ask({ messages: [question], effort: "high" }, isStream);
    }),
    one("JSON by a schema", (asker) =>
      asker.ask({ messages: [user(prompt('say {"a":1}', "Give an `a`."))], schema: SCHEMA }, isStream),
    ),
    one("an end at the limit", (asker) =>
      asker.ask({ messages: [user(prompt("tokens 90", "Count to a hundred."))], maxTokens: 16 }, isStream),
    ),
    one("an end at a stop sequence", (asker) =>
      asker.ask({ messages: [user(prompt("say one two three", "Say: one two three"))], stop: "two" }, isStream),
    ),
    one("an unknown model", (asker) => asker.ask({ model: "no-such-model", messages: [say] }, isStream), true),
  ];
  if (!isOwn) return models;
  return [
    ...models,
    one("usage with a cache", (asker) =>
      asker.ask({ messages: [user("@sim usage 1200 80 1000 20 ;; say counted")] }, isStream),
    ),
    one("only thinking, then a call", (asker) => called(asker, user('@sim think hm ;; call look {"at":"x"}'))),
    one("a long text", (asker) => asker.ask({ messages: [user("@sim tokens 300")] }, isStream)),
    one("no text", (asker) => asker.ask({ messages: [user("@sim usage 10 0")] }, isStream)),
    ...FAILURES.flatMap((failure) => {
      const fail = (before: string) => (asker: Asker) =>
        asker.ask({ messages: [user(`@sim ${before}fail ${failure}`)] }, isStream);
      return [
        one(`fails at once: ${failure}`, fail(""), true),
        one(`fails in the answer: ${failure}`, fail("think a ;; say b ;; "), !isStream),
      ];
    }),
    one("fails in a call", (asker) =>
      asker.ask({ messages: [user('@sim call look {"at":"x"} ;; wait ;; fault rst')], tools: [LOOK] }, isStream),
    ),
  ];
}
