import { ExcursorError } from "../core/errors.ts";
import type { SchemaChecker, SchemaContext } from "../core/schema-checker.ts";
import type { JsonObject } from "../core/turn.ts";
import { type ReducedSchema, reduceSchema } from "./reduce-schema.ts";
import { UnusableSchema } from "./unusable-schema.ts";
import { Verdicts } from "./verdicts.ts";
import type { WorkerRequest } from "./worker-messages.ts";
import { type Outcome, WORKER_LIMITS, type WorkerLimits, WorkerQueue } from "./worker-queue.ts";

export interface OwnedSchemaChecker extends SchemaChecker {
  /** Ends the worker; whoever waits for it is told that it was cancelled. */
  close(): Promise<void>;
}

/** Longer answers are not checked: they would be copied into the worker. */
const MAX_ANSWER_CHARS = 16 * 1024 * 1024;

const TOO_COSTLY = "it takes too long or too much memory to compile";
const TOO_COSTLY_TO_CHECK = "it takes too long or too much memory to check an answer against it";

/**
 * Reduces schemas to what we know and can bound, here, then compiles and checks in a worker thread under a deadline. The
 * worker is started by the first schema.
 */
export function createSchemaChecker(limits: WorkerLimits = WORKER_LIMITS): OwnedSchemaChecker {
  const queue = new WorkerQueue(limits);
  const verdicts = new Verdicts();

  const remember = (outcome: Outcome, { digest, answer }: WorkerRequest, principalId: string): void => {
    if (outcome.type === "too-costly") {
      if (answer === undefined) verdicts.setForAWhile(digest, TOO_COSTLY);
      // What takes too long with one answer may be quick with another: only the principal that got it is refused.
      else verdicts.setForAWhile(digest, TOO_COSTLY_TO_CHECK, principalId);
      return;
    }
    if (answer === undefined || outcome.type === "unusable") verdicts.set(digest, outcome);
  };

  const run = async (request: WorkerRequest, { principal, field, signal }: SchemaContext): Promise<Outcome> => {
    const isCheck = request.answer !== undefined;
    const known = () => {
      const verdict = verdicts.get(request.digest, principal.id);
      return verdict?.type === "good" && isCheck ? undefined : verdict;
    };
    const outcome = known() ?? (await queue.run({ request, principalId: principal.id, signal, known }));
    if (!known()) remember(outcome, request, principal.id);
    if (outcome.type === "unusable") throw unusable(field, outcome.why);
    if (outcome.type === "too-costly") throw unusable(field, isCheck ? TOO_COSTLY_TO_CHECK : TOO_COSTLY);
    return outcome;
  };

  return {
    async open(schema, context) {
      const reduced = reduce(schema, context.field);
      await run(reduced, context);
      return async (answer) => {
        if (answer.length > MAX_ANSWER_CHARS) return "it is too long to be checked";
        const outcome = await run({ ...reduced, answer }, context);
        return outcome.type === "mismatch" ? outcome.problem : undefined;
      };
    },
    close: () => queue.close(),
  };
}

function reduce(schema: JsonObject, field: string): ReducedSchema {
  try {
    return reduceSchema(schema);
  } catch (error) {
    if (error instanceof UnusableSchema) throw unusable(field, error.message);
    throw error;
  }
}

const unusable = (field: string, why: string): ExcursorError =>
  new ExcursorError("invalid-request", `${field}: this JSON schema cannot be used: ${why}.`, {
    code: "invalid_json_schema",
    field,
  });
