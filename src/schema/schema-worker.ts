import { type MessagePort, parentPort } from "node:worker_threads";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { BoundedMap } from "../core/bounded-map.ts";
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
  // Its own check would not know the metaschema that `$schema` names.
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

/** One value of each type. A schema that leads back to itself, or multiplies, does so for one of them. */
const SAMPLES: readonly unknown[] = [null, true, 1, "", [], {}];
/** The compiler nests the alternatives, so its time grows with the square of their number. */
const MAX_ALTERNATIVES = 500;
/** Members that change nothing, and names of older drafts, need not be as the metaschema wants them. */
const UNCHECKED =
  /\/(?:title|description|default|examples|deprecated|readOnly|writeOnly|format|\$comment|\$schema|\$id|content\w+)(?:\/\d+)?$/;

/** Returns a function that compiles schemas of one draft. */
function createCompiler(Ajv: typeof Ajv2020 | typeof Ajv2019, metaschema: string): (schema: object) => Check {
  const meta = new Ajv({ strict: false, allErrors: true, logger: false, validateFormats: false });
  return (schema) => {
    const isSound = meta.validate(metaschema, schema);
    const wrong = isSound ? undefined : meta.errors?.find(({ instancePath }) => !UNCHECKED.test(instancePath));
    if (wrong) throw new Error(`${wrong.instancePath} ${wrong.message}`.trim());
    // A new one for each: it remembers all that it has seen.
    const ajv = new Ajv(OPTIONS as object).removeKeyword("id");
    const validate = ajv.compile(schema);
    for (const sample of SAMPLES) validate(sample);
    return (answer) => {
      if (validate(answer) === true) return undefined;
      const problems = validate.errors?.slice(0, MAX_PROBLEMS) ?? null;
      return ajv.errorsText(problems, { dataVar: "it", separator: "; " }).slice(0, MAX_PROBLEM_CHARS);
    };
  };
}

/** Returns a function that compiles schemas. Draft 2019-09 also stands for all older ones. */
function createCompilers(): (json: string) => Check {
  let newest: ReturnType<typeof createCompiler> | undefined;
  let older: typeof newest;
  return (json) => {
    const schema = JSON.parse(json, prepareMember);
    if (isOlder(json, schema.$schema)) {
      older ??= createCompiler(Ajv2019, "https://json-schema.org/draft/2019-09/schema");
      return older(schema);
    }
    newest ??= createCompiler(Ajv2020, "https://json-schema.org/draft/2020-12/schema");
    return newest(schema);
  };
}

/** Without `$schema`, a list under `items` can only mean an older draft. */
const isOlder = (json: string, name: unknown): boolean =>
  typeof name === "string"
    ? /\/draft-0\d\/|\/2019-09\//.test(name)
    : json.includes('"items":[') && !json.includes('"prefixItems":');

/**
 * Throws for what the compiler cannot be left alone with. Drops OpenAPI's `nullable` where it has no `type` to widen, which
 * Ajv refuses.
 */
function prepareMember(this: { readonly type?: unknown }, name: string, value: unknown): unknown {
  if (name === "$async" && value === true) throw new Error("$async is not supported");
  const isList = (name === "oneOf" || name === "anyOf") && Array.isArray(value);
  if (isList && value.length > MAX_ALTERNATIVES) throw new Error(`${name} has more than ${MAX_ALTERNATIVES} schemas`);
  const isIdle = name === "nullable" && (value === false || (value === true && this.type === undefined));
  return isIdle ? undefined : value;
}

/**
 * Returns the worker's request handler. Caches compiled schemas, so that an answer need not wait for the compiler
 * again.
 */
function createReplies(): (request: WorkerRequest) => WorkerReply {
  /** By digest, the least recently used first. */
  const compiled = new BoundedMap<string, Check>(MAX_COMPILED);
  const compile = createCompilers();
  const checkFor = ({ digest, json }: WorkerRequest): Check => {
    const check = compiled.get(digest) ?? compile(json);
    compiled.set(digest, check);
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
  if (error instanceof RangeError) return "it is nested too deeply, or leads back to itself";
  return error instanceof Error ? error.message.slice(0, MAX_PROBLEM_CHARS) : "it cannot be compiled";
}

function serve(port: MessagePort): void {
  const reply = createReplies();
  const send = (message: WorkerReply) => port.postMessage(message);
  port.on("message", (request: WorkerRequest) => send(reply(request)));
  send({ type: "ready" });
}

if (parentPort) serve(parentPort);
