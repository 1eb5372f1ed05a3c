import { createHash } from "node:crypto";
import { ExcursorError } from "../core/errors.ts";
import type { SchemaChecker, SchemaContext } from "../core/schema-checker.ts";
import type { JsonObject, Principal } from "../core/turn.ts";
import { sizeProblem } from "./check-size.ts";
import { Verdicts } from "./verdicts.ts";
import type { WorkerRequest } from "./worker-messages.ts";
import { type Outcome, WORKER_LIMITS, type WorkerLimits, WorkerQueue } from "./worker-queue.ts";

export interface OwnedSchemaChecker extends SchemaChecker {
  /** Ends the workers. Checks that wait or run are rejected as cancelled. */
  close(): Promise<void>;
}

interface Lane {
  readonly queue: WorkerQueue;
  /** Not shared between lanes: while others keep the worker busy, a harmless schema may seem too costly. */
  readonly verdicts: Verdicts;
}

/** Longer answers are not checked, because they would be copied into the worker. */
const MAX_ANSWER_CHARS = 16 * 1024 * 1024;

const TOO_COSTLY = "it takes too long or too much memory to compile";
const TOO_COSTLY_TO_CHECK = "it takes too long or too much memory to check an answer against it";

/**
 * Checks answers against JSON schemas. Measures a schema in this thread, then compiles and applies it in a worker thread
 * under a deadline. Keys of the gateway and tokens of requests have a worker each, with separate verdicts. The first
 * schema starts a worker.
 */
export function createSchemaChecker(limits: WorkerLimits = WORKER_LIMITS): OwnedSchemaChecker {
  const forKeys: Lane = { queue: new WorkerQueue(limits), verdicts: new Verdicts() };
  const forTokens: Lane = { queue: new WorkerQueue(limits), verdicts: new Verdicts() };
  const laneOf = ({ token }: Principal): Lane => (token ? forTokens : forKeys);

  const remember = (outcome: Outcome, { digest, answer }: WorkerRequest, principal: Principal): void => {
    const { verdicts } = laneOf(principal);
    if (outcome.type === "too-costly") {
      if (answer === undefined) verdicts.setForAWhile(digest, TOO_COSTLY);
      // Another answer may be quick to check, so only this principal is refused.
      else verdicts.setForAWhile(digest, TOO_COSTLY_TO_CHECK, principal.id);
      return;
    }
    if (answer === undefined || outcome.type === "unusable") verdicts.set(digest, outcome);
  };

  const run = async (request: WorkerRequest, { principal, field, signal }: SchemaContext): Promise<Outcome> => {
    const { queue, verdicts } = laneOf(principal);
    const isCheck = request.answer !== undefined;
    const known = () => {
      const verdict = verdicts.get(request.digest, principal.id);
      return verdict?.type === "good" && isCheck ? undefined : verdict;
    };
    const outcome = known() ?? (await queue.run({ request, principal, signal, known }));
    if (!known()) remember(outcome, request, principal);
    if (outcome.type === "unusable") throw unusable(field, outcome.why);
    if (outcome.type === "too-costly") throw unusable(field, isCheck ? TOO_COSTLY_TO_CHECK : TOO_COSTLY);
    return outcome;
  };

  return {
    async open(schema, context) {
      const request = requestFor(schema, context.field);
      await run(request, context);
      return async (answer) => {
        if (answer.length > MAX_ANSWER_CHARS) return "it is too long to be checked";
        const outcome = await run({ ...request, answer }, context);
        return outcome.type === "mismatch" ? outcome.problem : undefined;
      };
    },
    close: async () => {
      await Promise.all([forKeys.queue.close(), forTokens.queue.close()]);
    },
  };
}

/** Throws if the schema is too large, or nested too deeply for JSON. */
function requestFor(schema: JsonObject, field: string): WorkerRequest {
  const problem = sizeProblem(schema);
  if (problem !== undefined) throw unusable(field, problem);
  try {
    const json = JSON.stringify(schema);
    return { json, digest: createHash("sha256").update(json).digest("base64url") };
  } catch {
    throw unusable(field, "it is nested too deeply");
  }
}

const unusable = (field: string, why: string): ExcursorError =>
  new ExcursorError("invalid_json_schema", `${field}: this JSON schema cannot be used: ${why}.`, { field });
