import { type MessagePort, parentPort } from "node:worker_threads";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { WorkerReply, WorkerRequest } from "./worker-messages.ts";

// Runs in a worker thread, which is terminated if it takes too long; see worker-queue.ts.

type Check = (answer: unknown) => string | undefined;

const MAX_COMPILED = 64;
const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 2000;

const OPTIONS = {
  strict: false,
  allErrors: true,
  logger: false,
  meta: false,
  validateFormats: false,
  validateSchema: false,
  // Otherwise every answer has a property `constructor`.
  ownProperties: true,
  // Inlined definitions multiply the code, and optimising it takes longer than it saves.
  inlineRefs: false,
  code: { optimize: false, regExp: Object.assign(toRegExp, { code: "toRegExp" }) },
} as const;

/** Many patterns in use are valid only without the flag `u`. */
function toRegExp(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}

function compile({ json, draft }: WorkerRequest): Check {
  const ajv = draft === "2020" ? new Ajv2020(OPTIONS as object) : new Ajv2019(OPTIONS as object);
  const validate = ajv.compile(JSON.parse(json));
  return (answer) => {
    if (validate(answer) === true) return undefined;
    const problems = validate.errors?.slice(0, MAX_PROBLEMS) ?? null;
    return ajv.errorsText(problems, { dataVar: "it", separator: "; " }).slice(0, MAX_PROBLEM_CHARS);
  };
}

/**
 * Returns the worker's request handler. Caches compiled schemas, so that an answer need not wait for the compiler
 * again.
 */
function createReplies(): (request: WorkerRequest) => WorkerReply {
  /** By digest, the least recently used first. */
  const compiled = new Map<string, Check>();
  const checkFor = (request: WorkerRequest): Check => {
    const { digest } = request;
    const check = compiled.get(digest) ?? compile(request);
    compiled.delete(digest);
    compiled.set(digest, check);
    for (const oldest of compiled.keys()) {
      if (compiled.size <= MAX_COMPILED) break;
      compiled.delete(oldest);
    }
    return check;
  };
  return (request) => {
    let check: Check;
    try {
      check = checkFor(request);
    } catch (error) {
      return { type: "unusable", why: messageOf(error) };
    }
    if (request.answer === undefined) return { type: "good" };
    try {
      const problem = check(JSON.parse(request.answer));
      return problem === undefined ? { type: "good" } : { type: "mismatch", problem };
    } catch (error) {
      // A recursive schema recurses as deep as the answer is nested.
      if (error instanceof RangeError) return { type: "mismatch", problem: "it is nested too deeply to be checked" };
      return { type: "unusable", why: messageOf(error) };
    }
  };
}

function messageOf(error: unknown): string {
  if (error instanceof RangeError) return "it is too complex to be compiled";
  return error instanceof Error ? error.message.slice(0, MAX_PROBLEM_CHARS) : "it cannot be compiled";
}

function serve(port: MessagePort): void {
  const reply = createReplies();
  const send = (message: WorkerReply) => port.postMessage(message);
  port.on("message", (request: WorkerRequest) => send(reply(request)));
  send({ type: "ready" });
}

if (parentPort) serve(parentPort);
