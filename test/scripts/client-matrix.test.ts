import { describe, expect, it } from "vitest";
import { clientMatrix } from "../../scripts/client-matrix.ts";
import { mergeResults } from "../clients/matrix/merge-results.ts";
import type { Proof } from "../clients/matrix/proof.ts";
import type { Result } from "../clients/matrix/results.ts";

const result = (over: Partial<Result> = {}): Result => ({
  client: "codex",
  dialect: "responses",
  feature: "tools",
  outcome: "proven",
  file: "a.test.ts",
  ...over,
});
const proof = (...features: Proof["features"]): readonly Proof[] => [
  { client: "codex", dialect: "responses", features },
];

describe("the results of a file", () => {
  it("are proven, or fail with any of their tests", () => {
    const { results, ran } = mergeResults([], "a.test.ts", [
      { state: "failed", proofs: proof("tools") },
      { state: "passed", proofs: proof("tools", "images") },
      { state: "passed", proofs: [] },
    ]);
    expect(results).toEqual([result({ outcome: "fails" }), result({ feature: "images" })]);
    expect([...ran]).toEqual(["codex"]);
  });

  it("replace its older ones, and no others", () => {
    const other = result({ file: "b.test.ts", feature: "abort" });
    const known = [result(), result({ feature: "images" }), other];
    const outcomes = [{ state: "passed", proofs: proof("images") }];
    expect(mergeResults(known, "a.test.ts", outcomes).results).toEqual([result({ feature: "images" }), other]);
    const partial = mergeResults(known, "a.test.ts", [...outcomes, { state: "skipped", proofs: proof("tools") }]);
    expect(partial.results).toEqual(known);
  });
});

it("the matrix tells proven, failed, not offered, not tried and not run apart", () => {
  const { head, rows, untried } = clientMatrix({
    clients: { codex: { version: "1.2.3", date: "2026-11-16" } },
    results: [
      result(),
      result({ feature: "images" }),
      result({ feature: "images", outcome: "fails", file: "b.test.ts" }),
    ],
  });
  const cells = (client: string, api: string) => {
    const row = rows.find(([title, dialect]) => title === client && dialect === api);
    return row ? Object.fromEntries(head.map((name, index) => [name, row[index]])) : {};
  };
  expect(cells("Codex", "Responses")).toMatchObject({
    "whole answer": "–",
    tools: "✓",
    images: "fails",
    thinking: "",
    tested: "1.2.3, 2026-11-16",
  });
  expect(cells("Crush", "Chat Completions")).toEqual({});
  expect(untried).toContain("Crush");
});
