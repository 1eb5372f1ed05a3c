import fc from "fast-check";
import { expect } from "vitest";
import { mutated, mutation } from "./mutate.ts";
import type { FuzzBudget } from "./seed.ts";
import { VALID_REQUESTS, type ValidRequest } from "./valid-requests.ts";

/** A gateway to attack, and what its answers must never hold. */
export interface Target {
  readonly url: string;
  readonly key: string;
  readonly secrets: readonly string[];
}

/** A request as it is sent. Fast-check prints it whole. */
class HostileRequest {
  readonly request: ValidRequest;
  readonly json: string;

  constructor(request: ValidRequest, json: string) {
    this.request = request;
    this.json = json;
  }

  toString(): string {
    return `POST ${this.request.path} ${this.json}`;
  }

  [fc.toStringMethod](): string {
    return this.toString();
  }
}

const hostileRequest: fc.Arbitrary<HostileRequest> = fc
  .tuple(fc.constantFrom(...VALID_REQUESTS), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([request, mutations]) => new HostileRequest(request, mutated(request.body, mutations)));

/** No request may take longer; what does hangs. */
const PATIENCE_MS = 20_000;

export async function fuzzRequests(target: Target, budget: FuzzBudget): Promise<void> {
  await checkAllAnswered(target);
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(hostileRequest, async ({ request, json }) => {
      const answer = await post(target, request, json);
      checkAnswer(answer, request.dialect, target);
      if (answer.status === 200) accepted++;
    }),
    budget,
  );
  expect(accepted, "the mutations reach what is accepted").toBeGreaterThan(0);
  await checkAllAnswered(target);
}

/** Every valid request is answered: before an attack, or the fuzz would test nothing, and after it. */
async function checkAllAnswered(target: Target): Promise<void> {
  for (const request of VALID_REQUESTS) {
    const answer = await post(target, request, mutated(request.body, []));
    expect(answer.status, `${request.path}: ${answer.text}`).toBe(200);
    checkAnswer(answer, request.dialect, target);
  }
}

interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const HEADERS: Readonly<Record<ValidRequest["dialect"], (key: string) => Readonly<Record<string, string>>>> = {
  openai: bearer,
  anthropic: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  gemini: (key) => ({ "x-goog-api-key": key }),
  ollama: bearer,
};

/** Sends a body to a route. */
async function post(target: Target, request: ValidRequest, json: string): Promise<HttpAnswer> {
  const response = await fetch(target.url + request.path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...HEADERS[request.dialect](target.key),
    },
    body: json,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

/** Refusals that are about the whole request, and so name no field. */
const WHOLE = new Set(["invalid_json", "json_too_deep", "empty_question", "method_not_allowed"]);

/** What a model that cannot be held to a tool or a format fails with; the request is not to blame, nor is the gateway. */
const MODEL_FAULTS = new Set(["tool_not_called", "invalid_json_output"]);

/**
 * What holds for any input: an answer or a refusal in the words of the dialect that names its field, never a failure of
 * the gateway; no stack, no path of the machine and no secret in it (FUZ-05, SEC-…).
 */
function checkAnswer({ status, type, text }: HttpAnswer, dialect: ValidRequest["dialect"], target: Target): void {
  const shown = `${status} ${text.slice(0, 1000)}`;
  for (const secret of [target.key, ...target.secrets]) expect(text.includes(secret), shown).toBe(false);
  expect(text, shown).not.toMatch(/\bat .+:\d+:\d+\)?|node:internal|file:\/\/|node_modules|\.(?:ts|js):\d+/);
  if (type.startsWith("text/event-stream")) {
    checkStream(text, shown);
    return;
  }
  if (type.startsWith("application/x-ndjson")) {
    const last = JSON.parse(text.trimEnd().split("\n").at(-1) ?? "") as { done?: boolean; error?: string };
    expect(last.done === true || typeof last.error === "string", shown).toBe(true);
    return;
  }
  expect(type, shown).toMatch(/^application\/json/);
  if (status === 200) {
    JSON.parse(text);
    return;
  }
  const { code, field, message } = READERS[dialect](JSON.parse(text), shown);
  expect(code, shown).toBeTypeOf("string");
  const isRefusal = status === 501 || (status >= 400 && status < 500);
  expect(isRefusal || (status === 502 && MODEL_FAULTS.has(code)), shown).toBe(true);
  if (status !== 400 || WHOLE.has(code)) return;
  if (/^The request body: expected an object/.test(message)) return;
  expect(field, shown).toMatch(/./);
}

interface SaidError {
  readonly code: string;
  readonly field: string | undefined;
  readonly message: string;
}

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire, and is looked at here.
type ErrorReader = (body: any, shown: string) => SaidError;

const WORDED = { type: expect.any(String), message: expect.any(String) };

/** Each checks the dialect's shape of an error. */
const READERS: Readonly<Record<ValidRequest["dialect"], ErrorReader>> = {
  openai({ error }, shown) {
    expect(error, shown).toMatchObject(WORDED);
    return { code: error.code, field: error.param, message: error.message };
  },
  anthropic(body, shown) {
    expect(body, shown).toMatchObject({ type: "error", request_id: expect.any(String), error: WORDED });
    const { message, details } = body.error;
    return { code: details?.error_code, field: details?.field, message };
  },
  gemini({ error }, shown) {
    expect(error, shown).toMatchObject({ code: expect.any(Number), status: expect.any(String) });
    const [info, bad] = error.details;
    return { code: info.reason.toLowerCase(), field: bad?.fieldViolations?.[0]?.field, message: error.message };
  },
  ollama({ error }, shown) {
    expect(error, shown).toBeTypeOf("string");
    // It has words only: those of a refusal begin with the field, unless they are about the whole request.
    const isWhole = /^The (?:request|question|body)|^The answer|nested|JSON/.test(error);
    const field = isWhole ? "none" : /^([^\s:]+): /.exec(error)?.[1];
    return { code: isWhole ? "invalid_json_output" : "", field, message: error };
  },
};

/** A stream that has begun comes to its end; where that is an error, it is not one of ours. */
function checkStream(text: string, shown: string): void {
  expect(text, shown).toMatch(
    /data: \[DONE\]|"type":"(?:response\.(?:completed|incomplete|failed)|message_stop|error)"|"finishReason":|"error":/,
  );
  expect(text, shown).not.toMatch(/internal_error|configuration_error|io_error/);
}
