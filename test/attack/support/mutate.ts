import fc from "fast-check";

/** Text that stands in the JSON as it is: numbers and keys that no value of the language is written as. */
class Raw {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

export type Tree = null | boolean | number | string | Raw | readonly Tree[] | { readonly [key: string]: Tree };

/** One change of a document. `place` and `choice` are taken modulo what there is, so that every number means something. */
export interface Mutation {
  readonly kind: (typeof KINDS)[number];
  readonly place: number;
  readonly choice: number;
}

const KINDS = [
  "replace",
  "replace",
  "replace",
  "remove",
  "repeat",
  "wrap",
  "unwrap",
  "rename",
  "add",
  "move",
  "spoil",
] as const;

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...KINDS),
  place: fc.nat(9999),
  choice: fc.nat(9999),
});

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

/** Values that a reader may not expect anywhere. */
const JUNK: readonly string[] = [
  "null",
  "true",
  "false",
  "0",
  "-1",
  "1.5",
  "-0",
  "1e308",
  "1e400",
  "-1e400",
  "9007199254740993",
  "2147483648",
  '""',
  '" "',
  '"\\u0000"',
  '"\\u0007\\u001b[2J\\r\\n"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"hasOwnProperty"',
  '"\\u202e\\ufeff"',
  JSON.stringify("x".repeat(70_000)),
  "[]",
  "{}",
  "[null]",
  "[[]]",
  "[{}]",
  '{"toString":1}',
  '{"toString":null,"valueOf":1}',
  '{"type":{"toString":1}}',
  '[{"toString":1}]',
  '{"toJSON":1}',
  '{"then":1}',
  '{"length":-1}',
  '{"length":1e9}',
  '{"__proto__":{"toString":1}}',
  '{"__proto__":null}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"":""}',
  nested(60, "[", "]"),
  `${'{"a":'.repeat(60)}1${"}".repeat(60)}`,
  nested(300, "[", "]"),
];

const KEYS = ["__proto__", "constructor", "toString", "valueOf", "toJSON", "length", "", "\u0000", "\ud800", "type"];

const SPOILERS: readonly ((text: string) => string)[] = [
  (text) => `${text}\u0000`,
  (text) => `\ud800${text}`,
  (text) => text.slice(0, Math.ceil(text.length / 2)),
  (text) => text.repeat(3),
  (text) => text.toUpperCase(),
  (text) => `${text}\r\n\r\n`,
  (text) => `\u0085\u2028${text}`,
  (text) => `data:${text}`,
  () => "",
];

type Path = readonly (string | number)[];

/** The document with the changes made to it, one after the other, as JSON. */
export const mutated = (document: Tree, mutations: readonly Mutation[]): string =>
  spell(mutations.reduce(mutate, document));

function mutate(tree: Tree, { kind, place, choice }: Mutation): Tree {
  const paths = pathsIn(tree);
  const path = paths[place % paths.length] ?? [];
  const value = at(tree, path);
  switch (kind) {
    case "replace":
      return put(tree, path, new Raw(pick(JUNK, choice)));
    case "remove":
      return path.length === 0 ? new Raw("null") : put(tree, path, undefined);
    case "repeat":
      return Array.isArray(value) ? put(tree, path, [...value, ...value]) : put(tree, path, [value, value]);
    case "wrap":
      return put(tree, path, choice % 2 === 0 ? [value] : { [pick(KEYS, choice >> 1)]: value });
    case "unwrap":
      if (Array.isArray(value)) return put(tree, path, Object.fromEntries(value.entries()));
      return isObject(value) ? put(tree, path, Object.values(value)) : put(tree, path, {});
    case "rename":
    case "add": {
      if (!isObject(value)) return put(tree, path, new Raw(pick(JUNK, choice)));
      const entries = Object.entries(value);
      const junk = new Raw(pick(JUNK, choice));
      const key = pick(KEYS, choice >> 4);
      if (kind === "add") return put(tree, path, withEntries([...entries, [key, junk]]));
      const renamed = choice % Math.max(entries.length, 1);
      return put(
        tree,
        path,
        withEntries(entries.map(([name, inner], index) => [index === renamed ? key : name, inner])),
      );
    }
    case "move":
      return put(tree, path, at(tree, paths[choice % paths.length] ?? []));
    case "spoil":
      return put(tree, path, typeof value === "string" ? pick(SPOILERS, choice)(value) : new Raw(pick(JUNK, choice)));
    default:
      return kind satisfies never;
  }
}

const pick = <T>(values: readonly T[], choice: number): T => values[choice % values.length] as T;

/** Every place of a document, the whole of it first. */
function pathsIn(tree: Tree, path: Path = []): Path[] {
  const inner = entriesOf(tree).flatMap(([key, value]) => pathsIn(value, [...path, key]));
  return [path, ...inner];
}

function entriesOf(tree: Tree): [string | number, Tree][] {
  if (Array.isArray(tree)) return [...tree.entries()];
  return isObject(tree) ? Object.entries(tree) : [];
}

const at = (tree: Tree, path: Path): Tree =>
  path.reduce<Tree>((inner, key) => (inner as Readonly<Record<string | number, Tree>>)[key] ?? null, tree);

/** Undefined takes the place out. */
function put(tree: Tree, path: Path, value: Tree | undefined): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return value ?? null;
  const replace = (inner: Tree) => (rest.length === 0 ? value : put(inner, rest, value));
  if (Array.isArray(tree)) {
    return tree.flatMap((inner, index) => (index === key ? [replace(inner)].filter(isThere) : [inner]));
  }
  return withEntries(
    Object.entries(tree as Readonly<Record<string, Tree>>).flatMap(([name, inner]): [string, Tree][] => {
      const put = name === key ? replace(inner) : inner;
      return put === undefined ? [] : [[name, put]];
    }),
  );
}

/** As JSON.parse makes it: `__proto__` is a key like any other. */
const withEntries = (entries: readonly (readonly [string, Tree])[]): Tree => Object.fromEntries(entries);

const isThere = (value: Tree | undefined): value is Tree => value !== undefined;

const isObject = (value: Tree): value is Readonly<Record<string, Tree>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Raw);

function spell(tree: Tree): string {
  if (tree instanceof Raw) return tree.json;
  if (Array.isArray(tree)) return `[${tree.map(spell).join(",")}]`;
  if (!isObject(tree)) return JSON.stringify(tree);
  return `{${Object.entries(tree)
    .map(([key, value]) => `${JSON.stringify(key)}:${spell(value)}`)
    .join(",")}}`;
}
