import { expect, it } from "vitest";
import { compareSchemas, isConflict } from "../../../src/drift/compare-schemas.ts";
import { schemaOf } from "../../../src/drift/own-schema.ts";
import { loadOwnFiles } from "../../../src/drift/own-schema-files.ts";
import { readSdk } from "../../../src/drift/read-sdk.ts";

/** The last SDK with plain descriptors, and the first with compact strings. npm downloads both; none of their code runs. */
const [PLAIN, COMPACT] = ["1.0.31", "1.0.32"];

it("drift reads both encodings of Cursor's SDK alike", { timeout: 240_000 }, async () => {
  const [plain, compact] = [await readSdk(PLAIN), await readSdk(COMPACT)];
  const ours = schemaOf(await loadOwnFiles());
  const both = [...plain.messages.keys()].filter((name) => compact.messages.has(name));
  const equal = both.filter(
    (name) => JSON.stringify(plain.messages.get(name)) === JSON.stringify(compact.messages.get(name)),
  );
  // A mistake in one of the readers would show in all messages that have the kind of field in question.
  expect(both.length).toBeGreaterThan(3000);
  expect(equal.length / both.length).toBeGreaterThan(0.95);
  // Cursor adds and removes fields from one version to the next, and changes none.
  const differences = compareSchemas(plain, compact);
  expect(differences.filter(isConflict)).toEqual([]);
  expect(new Set(differences.map(({ type }) => type))).toEqual(new Set(["missing", "extra"]));
  for (const theirs of [plain, compact]) {
    const found = compareSchemas(ours, theirs);
    // Other RPCs are not ours. Their messages are compared if we share them.
    expect(found.filter((one) => isConflict(one) || (one.type === "missing" && one.what !== "rpc"))).toEqual([]);
  }
});
