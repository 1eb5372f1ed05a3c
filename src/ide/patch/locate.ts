import type { MethodDefinition, PropertyDefinition } from "acorn";
import { findEnclosingClass, isWholeWord, type ParsedClass } from "./enclosing-class.ts";
import { type Marks, readClassMarks, readMarks } from "./marks.ts";
import { type Dialect, readDialect } from "./read-dialect.ts";

/** Where the guards go in the IDE's class. All positions are bytes of the bundle. */
export interface ClassSite {
  readonly start: number;
  readonly dialect: Dialect;
  /** The position after the opening brace of each method. Methods that this version lacks are missing. */
  readonly bodies: {
    readonly handleTextDelta: number;
    readonly sendUpdate?: number;
    readonly dispose?: number;
  };
}

/** What a bundle holds. Only `found` may be edited. */
export type Finding =
  | { readonly type: "absent" }
  | { readonly type: "found"; readonly site: ClassSite }
  | Exclude<Marks, { readonly type: "none" }>
  /** `excerpt`: the beginning of what is new, for a report. */
  | { readonly type: "unknown"; readonly reason: string; readonly excerpt?: string };

const EXCERPT_CHARS = 200;

/** The class has all of these. A class with only one of them is another class. */
const METHODS = ["handleThinkingCompleted", "handleThinkingDelta", "handleTextDelta"] as const;
/** A name with at most this many occurrences is used without looking for a rarer one. */
const FEW = 32;

/**
 * Finds the class that writes answers into the chat by its methods and their kinds. Parameter names and statements may
 * differ between versions. Returns `found` only if there is exactly one.
 */
export function locate(bundle: Buffer): Finding {
  const marks = readMarks(bundle);
  if (marks.type !== "none") return marks;
  const owners = findOwners(bundle);
  const [owner, second] = owners;
  if (!owner) return { type: "absent" };
  for (const { text, tree } of owners) {
    const found = readClassMarks(text.slice(0, tree.end));
    if (found.type !== "none") return found;
  }
  if (second) return { type: "unknown", reason: `${owners.length} classes look like the one that shows answers` };
  return readSite(bundle, owner);
}

function findOwners(bundle: Buffer): readonly ParsedClass[] {
  const rarest = findRarest(bundle);
  const owners = new Map<number, ParsedClass>();
  for (const at of rarest?.hits ?? []) {
    const owner = findEnclosingClass(bundle, at);
    if (!owner || !membersNamed(owner, rarest?.name ?? "").some(({ key }) => byteAt(owner, key.start) === at)) continue;
    const known = METHODS.filter((name) => membersNamed(owner, name).length > 0);
    if (known.length > 1) owners.set(owner.start, owner);
  }
  return [...owners.values()];
}

/** Returns the name with the fewest classes to parse. Each search goes through up to 60 MB. */
function findRarest(bundle: Buffer): { readonly name: string; readonly hits: readonly number[] } | undefined {
  let rarest: { readonly name: string; readonly hits: readonly number[] } | undefined;
  for (const name of METHODS) {
    const hits = definitionsOf(bundle, name);
    if (hits.length > 0 && (!rarest || hits.length < rarest.hits.length)) rarest = { name, hits };
    if (rarest && rarest.hits.length <= FEW) break;
  }
  return rarest;
}

/** Returns where the name stands as the name of a method or a field, not as a call. */
function definitionsOf(bundle: Buffer, name: string): readonly number[] {
  const hits: number[] = [];
  for (const pattern of [`${name}(`, `${name}=`].map((text) => Buffer.from(text))) {
    for (let at = bundle.indexOf(pattern); at !== -1; at = bundle.indexOf(pattern, at + 1)) {
      if (isWholeWord(bundle, at)) hits.push(at);
    }
  }
  return hits;
}

function readSite(bundle: Buffer, owner: ParsedClass): Finding {
  const unknown = (reason: string, name?: string): Finding => {
    const start = (name === undefined ? undefined : membersNamed(owner, name)[0]?.start) ?? 0;
    return { type: "unknown", reason, excerpt: owner.text.slice(start, start + EXCERPT_CHARS) };
  };
  for (const name of METHODS) {
    const problem = problemOf(owner, name);
    if (problem !== undefined) return unknown(problem, name);
  }
  const [completed] = methodsNamed(owner, "handleThinkingCompleted");
  const dialect = completed && readDialect(completed);
  if (!dialect)
    return unknown("handleThinkingCompleted does not read a duration in a known way", "handleThinkingCompleted");
  for (const name of ["sendUpdate", "dispose"]) {
    if (methodsNamed(owner, name).length > 1) return unknown(`the class has ${name} twice`);
  }
  const handleTextDelta = bodyOf(owner, "handleTextDelta");
  if (handleTextDelta === undefined) return unknown("handleTextDelta has no body");
  // Offsets are exact only if decoding has lost nothing.
  const end = byteAt(owner, owner.tree.end);
  if (!Buffer.from(owner.text.slice(0, owner.tree.end)).equals(bundle.subarray(owner.start, end))) {
    return unknown("the class is not valid UTF-8");
  }
  const [sendUpdate, dispose] = [bodyOf(owner, "sendUpdate"), bodyOf(owner, "dispose")];
  const bodies = {
    handleTextDelta,
    ...(sendUpdate !== undefined && { sendUpdate }),
    ...(dispose !== undefined && { dispose }),
  };
  return { type: "found", site: { start: owner.start, dialect, bodies } };
}

/** Returns why we cannot call a required method; undefined if we can. */
function problemOf(owner: ParsedClass, name: string): string | undefined {
  const [method, second] = membersNamed(owner, name);
  if (!method) return `the class has no ${name}`;
  if (second) return `the class has ${name} twice`;
  if (method.type === "PropertyDefinition") return `${name} is a field (an arrow function), not a method`;
  const { kind, value } = method;
  if (kind !== "method" || method.static || value.async || value.generator) return `${name} is of another kind`;
  if (value.params[0]?.type !== "Identifier") return `the first parameter of ${name} is of another kind`;
  return undefined;
}

function membersNamed({ tree }: ParsedClass, name: string): readonly (MethodDefinition | PropertyDefinition)[] {
  return tree.body.body.filter(
    (member): member is MethodDefinition | PropertyDefinition =>
      member.type !== "StaticBlock" && !member.computed && member.key.type === "Identifier" && member.key.name === name,
  );
}

const methodsNamed = (owner: ParsedClass, name: string): readonly MethodDefinition[] =>
  membersNamed(owner, name).filter((member) => member.type === "MethodDefinition");

function bodyOf(owner: ParsedClass, name: string): number | undefined {
  const [method] = methodsNamed(owner, name);
  return method && !method.static ? byteAt(owner, method.value.body.start + 1) : undefined;
}

const byteAt = (owner: ParsedClass, offset: number): number =>
  owner.start + Buffer.byteLength(owner.text.slice(0, offset));
