import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ConnectCode, connectCodeFromHttp, errorNumber, isConnectCode } from "../connect-failure.ts";
import { EXEC_KINDS, FAULT_KINDS, type FailStep, type Step } from "./step.ts";

/** The steps of one turn, and those it leaves to the following turns. */
export interface Script {
  /** What the script said, as far as it was steps: the identity of the script for counting faults. */
  readonly source: string;
  readonly steps: readonly Step[];
}

/** The scripts of a text, one for this turn and one more for each `next`; none if it holds no step. */
export function parseScripts(text: string): readonly Script[] {
  const scripts: { source: string[]; steps: Step[] }[] = [];
  for (const source of stepSources(text)) {
    const step = parseStep(source);
    if (scripts.length === 0) scripts.push({ source: [], steps: [] });
    if (step.type === "next") {
      scripts.push({ source: [], steps: [] });
      continue;
    }
    scripts.at(-1)?.source.push(source);
    scripts.at(-1)?.steps.push(step);
  }
  return scripts.map(({ source, steps }) => ({ source: source.join(" ;; "), steps }));
}

// White space, quotes, `>` and tags may stand before `@sim`: clients quote and wrap prompts. Every alternative
// begins with another character, so the match is linear.
const STEP_LINE = /^(?:[\s"'`“”‘’>]|<[^<>]*>)*@sim[ \t]+(.*)$/;

function* stepSources(text: string): Iterable<string> {
  for (const line of text.split(/\r?\n/)) {
    const rest = STEP_LINE.exec(line)?.[1];
    if (rest === undefined) continue;
    for (const part of dropClosing(rest).split(/ ;;(?: |$)/)) {
      const source = part.trim().replace(/^@sim[ \t]+/, "");
      if (source !== "") yield source;
    }
  }
}

/** Without the closing tags and quotes that belong to whatever was opened before the step. */
function dropClosing(line: string): string {
  let rest = line.trimEnd();
  for (;;) {
    const last = rest.at(-1) ?? "";
    const tag = last === ">" ? rest.lastIndexOf("<") : -1;
    if (tag >= 0 && rest[tag + 1] === "/") rest = rest.slice(0, tag).trimEnd();
    // A quote that the step itself opened stays.
    else if (QUOTES.includes(last) && isUnpaired(rest, last)) rest = rest.slice(0, -1).trimEnd();
    else return rest;
  }
}

const QUOTES = ['"', "'", "`", "”", "’"];

const isUnpaired = (text: string, quote: string): boolean => text.split(quote).length % 2 === 0;

function parseStep(source: string): Step {
  const { word, rest } = takeWord(source);
  try {
    const parse = STEPS[word];
    if (!parse) throw new Error(`unknown step; the steps are ${Object.keys(STEPS).join(", ")}`);
    return parse(rest);
  } catch (error) {
    return { type: "invalid", source, reason: error instanceof Error ? error.message : String(error) };
  }
}

const STEPS: Readonly<Record<string, (rest: string) => Step>> = {
  say: (rest) => ({ type: "say", text: unescapeText(rest) }),
  think: (rest) => ({ type: "think", text: unescapeText(rest) }),
  call(rest) {
    const { word: name, rest: json } = takeWord(rest);
    if (name === "") throw new Error("call needs a tool name");
    return { type: "call", name, args: parseObject(json) };
  },
  exec(rest) {
    const { word, rest: json } = takeWord(rest);
    const exec = memberNumber(word) ?? EXEC_KINDS.find((kind) => kind === word);
    if (exec === undefined) throw new Error(`exec needs one of ${EXEC_KINDS.join(", ")}, or #N`);
    return { type: "exec", exec, args: parseObject(json) };
  },
  ask: (rest) => ({ type: "ask", query: memberNumber(rest) ?? parseObject(rest) }),
  wait: () => ({ type: "wait" }),
  tokens(rest) {
    const [count = 0, everyMs = 0] = parseNumbers(rest, 1);
    return { type: "tokens", count, everyMs };
  },
  silent(rest) {
    const [ms = 0] = parseNumbers(rest, 1);
    return { type: "silent", ms };
  },
  usage(rest) {
    const [input = 0, output = 0, cached = 0] = parseNumbers(rest, 2);
    return { type: "usage", input, output, cached };
  },
  fail: parseFail,
  fault(rest) {
    const { word, rest: more } = takeWord(rest);
    const fault = FAULT_KINDS.find((kind) => kind === word);
    if (!fault) throw new Error(`fault needs one of ${FAULT_KINDS.join(", ")}`);
    const { options } = takeOptions(more);
    const code = numberOption(options, "code");
    return {
      type: "fault",
      fault,
      times: numberOption(options, "times") ?? 1,
      ...(code === undefined ? {} : { code }),
    };
  },
  need(rest) {
    const names = rest.split(/[\s,]+/).filter((name) => name !== "");
    if (names.length === 0) throw new Error("need wants at least one tool name");
    return { type: "need", names };
  },
  next: () => ({ type: "next" }),
};

function parseFail(rest: string): FailStep {
  const first = takeWord(rest);
  const hasCode = !/^\w+=/.test(first.word);
  if (hasCode && !isConnectCode(first.word)) {
    throw new Error(`fail needs a Connect code${first.word === "" ? "" : `, not "${first.word}"`}`);
  }
  const { options, words, rest: text } = takeOptions(hasCode ? first.rest : rest, /^ERROR_[A-Z0-9_]+$/);
  const [errorName] = words;
  if (errorName !== undefined && errorNumber(errorName) === undefined) throw new Error(`there is no ${errorName}`);
  const http = numberOption(options, "http");
  if (!hasCode && http === undefined) throw new Error("fail needs a Connect code, or http=STATUS");
  const retryAfterS = numberOption(options, "retry");
  const retryable = options.get("retryable");
  const title = options.get("title");
  return {
    type: "fail",
    code: hasCode ? (first.word as ConnectCode) : connectCodeFromHttp(http ?? 500),
    text: unescapeText(text),
    times: numberOption(options, "times") ?? Number.POSITIVE_INFINITY,
    ...(http === undefined ? {} : { http }),
    ...(errorName === undefined ? {} : { errorName }),
    ...(title === undefined ? {} : { title }),
    ...(retryable === undefined ? {} : { retryable: retryable !== "false" }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  };
}

function takeWord(text: string): { word: string; rest: string } {
  const [, word = "", rest = ""] = /^\s*(\S*)\s*(.*)$/s.exec(text) ?? [];
  return { word, rest };
}

const OPTION = /^(title|retryable|retry|times|http|code)=("[^"]*"|\S*)(?:\s+|$)/;

/** Leading `key=value` pairs (and words of the given form), then the rest as it is. */
function takeOptions(text: string, wordForm?: RegExp) {
  const options = new Map<string, string>();
  const words: string[] = [];
  let rest = text.trim();
  for (;;) {
    const option = OPTION.exec(rest);
    const { word, rest: behind } = takeWord(rest);
    if (option?.[1] !== undefined) {
      options.set(option[1], (option[2] ?? "").replace(/^"(.*)"$/, "$1"));
      rest = rest.slice(option[0].length);
    } else if (word !== "" && wordForm?.test(word)) {
      words.push(word);
      rest = behind;
    } else return { options, words, rest };
  }
}

function numberOption(options: ReadonlyMap<string, string>, key: string): number | undefined {
  const value = options.get(key);
  if (value === undefined) return undefined;
  return parseNumbers(value, 1, `${key}=`)[0];
}

function parseNumbers(text: string, atLeast: number, label = ""): number[] {
  const words = text.split(/\s+/).filter((word) => word !== "");
  const numbers = words.map(Number);
  if (numbers.length < atLeast || numbers.some((n) => !Number.isFinite(n) || n < 0)) {
    throw new Error(`${label}"${text}" is not ${atLeast === 1 ? "a number" : `${atLeast} numbers`} of zero or more`);
  }
  return numbers;
}

const memberNumber = (word: string): number | undefined => {
  const digits = /^#(\d{1,9})\s*$/.exec(word)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

/** A step's JSON object. Clients that quote a prompt escape its quotes, so that is undone if it must be. */
function parseObject(text: string): JsonObject {
  if (text.trim() === "") return {};
  const value = parseJson(text) ?? parseJson(text.replaceAll('\\"', '"'));
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`"${text.slice(0, 80)}" is not a JSON object`);
  }
  return value;
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

const unescapeText = (text: string): string =>
  text.replace(/\\([n\\])/g, (_, escaped: string) => (escaped === "n" ? "\n" : "\\"));
