import { type Schema, type SchemaField, WELL_KNOWN } from "./schema.ts";

/**
 * A difference between our schema and Cursor's. `missing`: they have it and we do not. `extra`: the other way round.
 * `renamed` and `opaque` are harmless on the wire: we keep an `opaque` message as its bytes, or an enum as its number. The
 * others are conflicts: the same bytes mean something else.
 */
export interface Difference {
  readonly type: "missing" | "extra" | "renamed" | "opaque" | "renumbered" | "retyped" | "relabelled";
  readonly what: "field" | "enum value" | "rpc" | "message" | "header";
  /** The message, enum or service; `request` or `response` of a header. */
  readonly owner: string;
  readonly number?: number | undefined;
  readonly name: string;
  /** What we have in this place. */
  readonly ours?: string | undefined;
  readonly theirs?: string | undefined;
}

const CONFLICTS: ReadonlySet<Difference["type"]> = new Set(["renumbered", "retyped", "relabelled"]);

export const isConflict = ({ type }: Difference): boolean => CONFLICTS.has(type);

/**
 * Compares what both schemas have. Messages and enums correspond if they have the same name, or if corresponding fields
 * have them as their types: a name is not on the wire. What only one schema has is no difference, unless a shared message,
 * enum or service has it as a member.
 */
export function compareSchemas(ours: Schema, theirs: Schema): readonly Difference[] {
  const pairs = new Map<string, string>();
  const pair = (mine: string, other: string) => {
    if (!pairs.has(mine)) pairs.set(mine, other);
  };
  for (const name of [...ours.messages.keys(), ...ours.enums.keys()])
    if (theirs.messages.has(name) || theirs.enums.has(name)) pair(name, name);
  for (const [path, mine] of ours.methods) {
    const other = theirs.methods.get(path);
    if (other) pair(mine.input, other.input);
    if (other) pair(mine.output, other.output);
  }
  const differences: Difference[] = [];
  // Pairs that are found on the way are visited, too.
  for (const [mine, other] of pairs) {
    const [fields, theirFields] = [ours.messages.get(mine), theirs.messages.get(other)];
    if (fields && theirFields) differences.push(...compareFields(mine, fields, theirFields, { ours, theirs, pair }));
    const [values, theirValues] = [ours.enums.get(mine), theirs.enums.get(other)];
    if (values && theirValues) differences.push(...compareValues(mine, values, theirValues));
  }
  return [...differences, ...compareMethods(ours, theirs)];
}

interface Comparison {
  readonly ours: Schema;
  readonly theirs: Schema;
  readonly pair: (mine: string, other: string) => void;
}

function compareFields(
  owner: string,
  ours: readonly SchemaField[],
  theirs: readonly SchemaField[],
  comparison: Comparison,
): readonly Difference[] {
  const [mine, other] = [byNumber(ours), byNumber(theirs)];
  const numberOf = new Map(ours.map(({ name, number }) => [name, number]));
  const missing = theirs.flatMap((field): Difference[] => {
    const { number, name } = field;
    const existing = mine.get(number);
    const place = { what: "field", owner, number, name, theirs: show(field) } as const;
    const elsewhere = numberOf.get(name);
    if (!existing && elsewhere !== undefined) return [{ type: "renumbered", ...place, ours: String(elsewhere) }];
    if (!existing) return [{ type: "missing", ...place }];
    const both = { ...place, ours: show(existing) };
    if (isOpaque(existing.type, field.type, comparison.theirs)) return [{ type: "opaque", ...both }];
    if (!isSameType(existing.type, field.type, comparison)) return [{ type: "retyped", ...both }];
    if (existing.isRepeated !== field.isRepeated) return [{ type: "relabelled", ...both }];
    return existing.name === name ? [] : [{ type: "renamed", ...both }];
  });
  const theirNames = new Set(theirs.map(({ name }) => name));
  const extra = ours
    .filter(({ number, name }) => !other.has(number) && !theirNames.has(name))
    .map((field): Difference => {
      return { type: "extra", what: "field", owner, number: field.number, name: field.name, ours: show(field) };
    });
  return [...missing, ...extra];
}

/** True if both are the same scalar, both messages or both enums; those are paired. */
function isSameType(mine: string, other: string, comparison: Comparison): boolean {
  const { ours, theirs, pair } = comparison;
  const [entry, theirEntry] = [MAP.exec(mine), MAP.exec(other)];
  if (entry && theirEntry)
    return entry[1] === theirEntry[1] && isSameType(entry[2] ?? "", theirEntry[2] ?? "", comparison);
  if (other === WELL_KNOWN) return mine.startsWith(WELL_KNOWN);
  const isSameKind =
    (ours.messages.has(mine) && theirs.messages.has(other)) || (ours.enums.has(mine) && theirs.enums.has(other));
  if (isSameKind) pair(mine, other);
  return isSameKind || mine === other;
}

/** True if we keep their message as bytes, or their enum as a number. The wire is the same. */
function isOpaque(mine: string, other: string, theirs: Schema): boolean {
  const [entry, theirEntry] = [MAP.exec(mine), MAP.exec(other)];
  if (entry && theirEntry) return entry[1] === theirEntry[1] && isOpaque(entry[2] ?? "", theirEntry[2] ?? "", theirs);
  if (mine === "bytes") return other === WELL_KNOWN || theirs.messages.has(other);
  return mine === "int32" && theirs.enums.has(other);
}

const MAP = /^map<(\w+), (.+)>$/;

const byNumber = (fields: readonly SchemaField[]): ReadonlyMap<number, SchemaField> =>
  new Map(fields.map((field) => [field.number, field]));

const show = ({ name, type, isRepeated }: SchemaField): string => `${isRepeated ? "repeated " : ""}${type} ${name}`;

function compareValues(
  owner: string,
  ours: ReadonlyMap<number, string>,
  theirs: ReadonlyMap<number, string>,
): readonly Difference[] {
  const missing = [...theirs].flatMap(([number, name]): Difference[] => {
    const mine = ours.get(number);
    const place = { what: "enum value", owner, number, name, ours: mine } as const;
    return mine === name ? [] : [{ type: mine === undefined ? "missing" : "renamed", ...place }];
  });
  const extra = [...ours]
    .filter(([number]) => !theirs.has(number))
    .map(([number, name]): Difference => ({ type: "extra", what: "enum value", owner, number, name }));
  return [...missing, ...extra];
}

function compareMethods(ours: Schema, theirs: Schema): readonly Difference[] {
  const serviceOf = (path: string) => path.slice(1, path.lastIndexOf("/"));
  const ourServices = new Set([...ours.methods.keys()].map(serviceOf));
  const theirServices = new Set([...theirs.methods.keys()].map(serviceOf));
  const missing = [...theirs.methods].flatMap(([path, { input, output }]): Difference[] => {
    const owner = serviceOf(path);
    if (ours.methods.has(path) || !ourServices.has(owner)) return [];
    const name = path.slice(path.lastIndexOf("/") + 1);
    return [{ type: "missing", what: "rpc", owner, name, theirs: `${input} → ${output}` }];
  });
  const extra = [...ours.methods.keys()]
    .filter((path) => !theirs.methods.has(path) && theirServices.has(serviceOf(path)))
    .map((path): Difference => {
      return { type: "extra", what: "rpc", owner: serviceOf(path), name: path.slice(path.lastIndexOf("/") + 1) };
    });
  return [...missing, ...extra];
}
