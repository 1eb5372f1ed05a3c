import { type ConnectCode, isConnectCode } from "../../wire/agent/cursor-errors.ts";
import { connectCodeFromHttp, errorNumber } from "../../wire/connect/connect-failure.ts";
import { EXEC_KINDS, FAULT_KINDS, type FailStep, type Step } from "./step.ts";
import { findSteps } from "./step-lines.ts";
import {
  COUNT,
  MILLISECONDS,
  memberNumber,
  parseObject,
  parseQuery,
  type Range,
  wholeNumber,
  wholeNumbers,
} from "./values.ts";

export interface Script {
  /** The text of the steps. Identifies the script when faults are counted. */
  readonly source: string;
  readonly steps: readonly Step[];
}

/** Parses the scripts of a text: one for this turn, and one for each `next`. Returns none if there is no step. */
export function parseScripts(text: string): readonly Script[] {
  const scripts: { source: string[]; steps: Step[] }[] = [];
  for (const { source, step } of findSteps(text, parseStep, isCut)) {
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

/** True if this may be the beginning of a step whose JSON continues. */
const isCut = ({ source, step }: { readonly source: string; readonly step: Step }): boolean =>
  step.type === "invalid" && /^(?:call|exec|ask)\s[^{]*\{/.test(source);

function parseStep(source: string): Step {
  const { word, rest } = takeWord(source);
  try {
    const parse = Object.hasOwn(STEPS, word) ? STEPS[word] : undefined;
    if (!parse) throw new Error(`unknown step; the steps are ${Object.keys(STEPS).join(", ")}`);
    return parse(rest);
  } catch (error) {
    return { type: "invalid", source, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** An upper bound, so that an answer cannot run forever. */
const TOKENS: Range = [0, 10_000_000];
const TIMES: Range = [1, Number.MAX_SAFE_INTEGER];
const HTTP_STATUS: Range = [400, 599];
const HTTP2_CODE: Range = [0, 2 ** 32 - 1];
const SECONDS: Range = [0, 2 ** 31 - 1];

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
  ask: (rest) => ({ type: "ask", query: memberNumber(rest) ?? parseQuery(rest) }),
  wait: () => ({ type: "wait" }),
  tokens(rest) {
    const [count = 0, everyMs = 0] = wholeNumbers(rest, 1, [TOKENS, MILLISECONDS]);
    return { type: "tokens", count, everyMs };
  },
  silent(rest) {
    const [ms = 0] = wholeNumbers(rest, 1, [MILLISECONDS]);
    return { type: "silent", ms };
  },
  usage(rest) {
    const [input = 0, output = 0, cached = 0, written = 0] = wholeNumbers(rest, 2, [COUNT, COUNT, COUNT, COUNT]);
    return { type: "usage", input, output, cached, written };
  },
  fail: parseFail,
  fault(rest) {
    const { word, rest: more } = takeWord(rest);
    const fault = FAULT_KINDS.find((kind) => kind === word);
    if (!fault) throw new Error(`fault needs one of ${FAULT_KINDS.join(", ")}`);
    const { options } = takeOptions(more);
    const code = numberOption(options, "code", HTTP2_CODE);
    const ms = numberOption(options, "ms", MILLISECONDS);
    return {
      type: "fault",
      fault,
      times: numberOption(options, "times", TIMES) ?? 1,
      ...(code === undefined ? {} : { code }),
      ...(ms === undefined ? {} : { ms }),
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
  const http = numberOption(options, "http", HTTP_STATUS);
  if (!hasCode && http === undefined) throw new Error("fail needs a Connect code, or http=STATUS");
  const retryAfterS = numberOption(options, "retry", SECONDS);
  const retryable = options.get("retryable");
  const title = options.get("title");
  const errorType = options.get("type");
  return {
    type: "fail",
    code: hasCode ? (first.word as ConnectCode) : connectCodeFromHttp(http ?? 500),
    text: unescapeText(text),
    times: numberOption(options, "times", TIMES) ?? Number.POSITIVE_INFINITY,
    ...(http === undefined ? {} : { http }),
    ...(errorName === undefined ? {} : { errorName }),
    ...(title === undefined ? {} : { title }),
    ...(retryable === undefined ? {} : { retryable: retryable !== "false" }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    ...(errorType === undefined ? {} : { errorType }),
  };
}

function takeWord(text: string): { word: string; rest: string } {
  const [, word = "", rest = ""] = /^\s*(\S*)\s*(.*)$/s.exec(text) ?? [];
  return { word, rest };
}

const OPTION = /^(title|retryable|retry|times|type|http|code|ms)=("[^"]*"|\S*)(?:\s+|$)/;

/** Takes leading `key=value` pairs, and words that match, and returns the rest unchanged. */
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

function numberOption(options: ReadonlyMap<string, string>, key: string, range: Range): number | undefined {
  const value = options.get(key);
  if (value === undefined) return undefined;
  try {
    return wholeNumber(value, range);
  } catch (error) {
    throw new Error(`${key}: ${error instanceof Error ? error.message : error}`);
  }
}

const unescapeText = (text: string): string =>
  text.replace(/\\([n\\])/g, (_, escaped: string) => (escaped === "n" ? "\n" : "\\"));
