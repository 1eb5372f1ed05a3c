import type { z } from "zod";
import { ExcursorError } from "../../../core/errors.ts";
import { describeValue, kindOf } from "../../../core/json/describe-value.ts";

type Issue = z.core.$ZodIssue;

/** Returns the first problem of a request: the field and what was expected. */
export function invalidRequest(error: z.core.$ZodError, body: unknown): ExcursorError {
  const issue = error.issues[0];
  if (!issue) return new ExcursorError("invalid-request", "The request is not valid.");
  const { path, expected } = explain(issue, body);
  const field = fieldName(path);
  const where = field === "" ? "The request body" : field;
  return new ExcursorError("invalid-request", `${where}: ${expected}.`, field === "" ? {} : { field });
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === "number") return `${name}[${key}]`;
    return name === "" ? String(key) : `${name}.${String(key)}`;
  }, "");
}

interface Explanation {
  readonly path: readonly PropertyKey[];
  readonly expected: string;
}

function explain(issue: Issue, value: unknown): Explanation {
  const { path } = issue;
  const found = valueAt(value, path);
  switch (issue.code) {
    case "invalid_type":
      return { path, expected: `expected ${withArticle(issue.expected)}, got ${kindOf(found)}` };
    case "invalid_value":
      return { path, expected: `expected ${oneOf(issue.values)}, got ${describeValue(found)}` };
    case "too_small":
      return { path, expected: `expected at least ${count(issue.minimum, issue.origin)}` };
    case "too_big":
      return { path, expected: `expected at most ${count(issue.maximum, issue.origin)}` };
    case "invalid_union":
      return explainUnion(issue, found);
    default:
      return { path, expected: issue.message };
  }
}

/** Reports the alternative that matched deepest: it is probably the one the client meant. */
function explainUnion(issue: Extract<Issue, { code: "invalid_union" }>, found: unknown): Explanation {
  const { path } = issue;
  if (issue.errors.length === 0) {
    const options = "options" in issue && Array.isArray(issue.options) ? issue.options : [];
    return { path, expected: `expected ${oneOf(options)}, got ${describeValue(found)}` };
  }
  const shapes = issue.errors.flatMap(([first]) => (first ? [first] : []));
  const deepest = shapes.reduce((a, b) => (depthOf(b) > depthOf(a) ? b : a));
  if (depthOf(deepest) > 0) {
    const inner = explain(deepest, found);
    return { path: [...path, ...inner.path], expected: inner.expected };
  }
  const other = shapes.find((shape) => shape.code !== "invalid_type" && shape.code !== "invalid_value");
  if (other) return { path, expected: explain(other, found).expected };
  const names = new Set(shapes.map(nameShape));
  return { path, expected: `expected ${[...names].join(" or ")}, got ${kindOf(found)}` };
}

function depthOf(issue: Issue): number {
  if (issue.code !== "invalid_union") return issue.path.length;
  return issue.path.length + Math.max(0, ...issue.errors.map(([first]) => (first ? depthOf(first) : 0)));
}

function nameShape(issue: Issue): string {
  if (issue.code === "invalid_type") return withArticle(issue.expected);
  return issue.code === "invalid_value" ? oneOf(issue.values) : issue.message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

const withArticle = (name: string): string => {
  if (name === "int") return "an integer";
  if (name === "nonoptional") return "a value";
  return /^[aeiou]/.test(name) ? `an ${name}` : `a ${name}`;
};

const oneOf = (values: readonly unknown[]): string => {
  const names = values.map((value) => JSON.stringify(value)).join(", ");
  return values.length === 1 ? names : `one of ${names}`;
};

function count(amount: number | bigint, origin: string): string {
  const isOne = Number(amount) === 1;
  if (origin === "string") return `${amount} ${isOne ? "character" : "characters"}`;
  return origin === "array" ? `${amount} ${isOne ? "entry" : "entries"}` : String(amount);
}
