import { expect, test } from "vitest";
import { compareSchemas, isConflict } from "../../src/drift/compare-schemas.ts";
import { schemaOf } from "../../src/drift/own-schema.ts";
import { loadOwnFiles } from "../../src/drift/own-schema-files.ts";
import type { Schema, SchemaField } from "../../src/drift/schema.ts";

const field = (number: number, name: string, type: string, isRepeated = false): SchemaField => ({
  number,
  name,
  type,
  isRepeated,
  isOptional: false,
});
const schema = (
  messages: Readonly<Record<string, readonly SchemaField[]>>,
  enums: Schema["enums"] = new Map(),
): Schema => ({
  messages: new Map(Object.entries(messages)),
  enums,
  methods: new Map(),
});
const typesOf = (ours: Schema, theirs: Schema) =>
  compareSchemas(ours, theirs).map((difference) => `${difference.type} ${difference.owner}.${difference.name}`);

test("tells missing, extra and renamed fields, which are no conflicts", () => {
  const ours = schema({ M: [field(1, "a", "string"), field(2, "b", "bool")] });
  const theirs = schema({ M: [field(1, "a2", "string"), field(3, "c", "bool")] });
  expect(typesOf(ours, theirs)).toEqual(["renamed M.a2", "missing M.c", "extra M.b"]);
  expect(compareSchemas(ours, theirs).filter(isConflict)).toEqual([]);
});

test("tells fields whose bytes mean something else, which are conflicts", () => {
  const ours = schema({ M: [field(1, "a", "string"), field(2, "b", "bool"), field(3, "c", "bool")] });
  const theirs = schema({ M: [field(1, "a", "bytes"), field(2, "b", "bool", true), field(4, "c", "bool")] });
  expect(typesOf(ours, theirs)).toEqual(["retyped M.a", "relabelled M.b", "renumbered M.c"]);
  expect(compareSchemas(ours, theirs).every(isConflict)).toBe(true);
});

test("tells messages that we keep as bytes, which are no conflicts", () => {
  const ours = schema({
    M: [field(1, "a", "bytes"), field(2, "b", "map<string, bytes>"), field(3, "c", "int32"), field(4, "d", "bytes")],
  });
  const theirs = schema(
    {
      M: [field(1, "a", "Big"), field(2, "b", "map<string, Big>"), field(3, "c", "E"), field(4, "d", "string")],
      Big: [],
    },
    new Map([["E", new Map([[0, "E_UNSPECIFIED"]])]]),
  );
  expect(typesOf(ours, theirs)).toEqual(["opaque M.a", "opaque M.b", "opaque M.c", "retyped M.d"]);
  expect(compareSchemas(ours, theirs).filter(isConflict)).toHaveLength(1);
});

test("compares messages of other names by the fields that have them", () => {
  const ours = schema({ M: [field(1, "a", "M.Inner")], "M.Inner": [field(1, "x", "string")] });
  const theirs = schema({ M: [field(1, "a", "MInner")], MInner: [field(1, "x", "string"), field(2, "y", "string")] });
  expect(typesOf(ours, theirs)).toEqual(["missing M.Inner.y"]);
});

test("takes a message in the place of a scalar for a conflict", () => {
  const ours = schema({ M: [field(1, "a", "string")] });
  const theirs = schema({ M: [field(1, "a", "N")], N: [] });
  expect(typesOf(ours, theirs)).toEqual(["retyped M.a"]);
});

test("tells enum values that we lack", () => {
  const ours = schema({}, new Map([["E", new Map([[0, "E_NONE"]])]]));
  const theirs = schema(
    {},
    new Map([
      [
        "E",
        new Map([
          [0, "E_NONE"],
          [1, "E_SOME"],
        ]),
      ],
    ]),
  );
  expect(typesOf(ours, theirs)).toEqual(["missing E.E_SOME"]);
});

test("finds no difference between our schema and itself", async () => {
  const own = schemaOf(await loadOwnFiles());
  expect(own.messages.size).toBeGreaterThan(500);
  expect(compareSchemas(own, own)).toEqual([]);
});
