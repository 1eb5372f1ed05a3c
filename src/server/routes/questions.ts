import { randomUUID } from "node:crypto";
import type { Limits } from "../../config/limits.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Elicit, ElicitationAnswer } from "../../core/hub/tool-hub.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { Principal } from "../../core/turn.ts";
import type { FaceModule } from "../../faces/shared/face-module.ts";
import { readJson } from "../read-json.ts";
import type { Route } from "./route.ts";

/** Sent by a client that can show its user the questions of hub tools. */
export const ASKS_HEADER = "x-excursor-asks";

/** The prefix of an SSE comment that holds a question as JSON. */
const QUESTION = "excursor-question";

/**
 * Questions of hub tools to the user. A question is an SSE comment in the stream, which other clients ignore. The
 * answer is a separate request by the same principal.
 */
export class Questions {
  readonly #waiting = new Map<string, { readonly principalId: string; answer(given: ElicitationAnswer): void }>();

  /** Returns a function that asks by a comment. Declines if the stream is over. */
  elicit(principal: Principal, write: (comment: string) => boolean): Elicit {
    return async (question, signal) => {
      const id = randomUUID();
      const { promise, resolve } = Promise.withResolvers<ElicitationAnswer>();
      const giveUp = () => resolve({ action: "cancel" });
      this.#waiting.set(id, { principalId: principal.id, answer: resolve });
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        if (!write(`: ${QUESTION} ${JSON.stringify({ id, ...question })}\n\n`)) return { action: "decline" };
        return await promise;
      } finally {
        signal.removeEventListener("abort", giveUp);
        this.#waiting.delete(id);
      }
    };
  }

  /** Returns false if the question is unknown, over, or another principal's. */
  answer({ id: principalId }: Principal, id: string, given: ElicitationAnswer): boolean {
    const waiting = this.#waiting.get(id);
    if (waiting?.principalId !== principalId) return false;
    waiting.answer(given);
    return true;
  }
}

export const answersRoute = (questions: Questions, face: FaceModule, limits: Limits): Route => ({
  method: "POST",
  path: "/excursor/answers",
  face,
  async handle(exchange) {
    const { principal } = exchange;
    const { id, ...given } = readAnswer(await readJson(exchange, limits));
    if (!principal || !questions.answer(principal, id, given)) {
      throw new ExcursorError("unknown_question", [], { field: "id" });
    }
    exchange.reply(200, { status: "ok" });
  },
});

function readAnswer(body: unknown): ElicitationAnswer & { readonly id: string } {
  const { id, action, content = {} } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof id !== "string") throw invalid("id", "the id of a question");
  if (action === "decline" || action === "cancel") return { id, action };
  if (action !== "accept") throw invalid("action", "accept, decline or cancel");
  if (!isJsonObject(content) || !isForm(content)) {
    throw invalid("content", "an object of texts, numbers, booleans and lists of texts");
  }
  return { id, action, content };
}

type Form = Extract<ElicitationAnswer, { readonly action: "accept" }>["content"];

const isForm = (content: object): content is Form =>
  Object.values(content).every((value) =>
    Array.isArray(value)
      ? value.every((item) => typeof item === "string")
      : ["string", "number", "boolean"].includes(typeof value),
  );

const invalid = (field: string, expected: string): ExcursorError =>
  new ExcursorError("invalid-request", `${field}: expected ${expected}.`, { field });
