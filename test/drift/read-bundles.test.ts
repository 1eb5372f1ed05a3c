import { expect, test } from "vitest";
import { readBundles } from "../../src/drift/read-bundles.ts";
import { COMPACT, PLAIN, STATIC } from "./support.ts";

const flat = { isRepeated: false, isOptional: false, oneof: undefined };

test.each([
  ["plain descriptors", PLAIN],
  ["static members", STATIC],
  ["compact strings", COMPACT],
])("reads the schema out of %s", (_, source) => {
  const { messages, enums, methods } = readBundles([source]);
  expect(messages.get("agent.v1.Run")).toEqual([
    { ...flat, number: 1, name: "rules", type: "agent.v1.Rule", isRepeated: true },
    { ...flat, number: 2, name: "by_name", type: "map<string, agent.v1.Rule>" },
    { ...flat, number: 3, name: "text", type: "string", oneof: "body" },
    { ...flat, number: 4, name: "at", type: "google.protobuf" },
  ]);
  expect(messages.get("agent.v1.Rule")).toEqual([
    { ...flat, number: 1, name: "path", type: "string" },
    { ...flat, number: 2, name: "kind", type: "agent.v1.RuleKind", isOptional: true },
  ]);
  expect(enums.get("agent.v1.RuleKind")).toEqual(
    new Map([
      [0, "RULE_KIND_OFF"],
      [1, "RULE_KIND_ON"],
    ]),
  );
  expect(methods.get("/agent.v1.AgentService/Go")).toEqual({ input: "agent.v1.Run", output: "agent.v1.Rule" });
});

test("reads all encodings as the same schema", () => {
  expect(STATIC).not.toContain(".typeName =");
  expect(readBundles([STATIC])).toEqual(readBundles([PLAIN]));
  expect(readBundles([COMPACT])).toEqual(readBundles([PLAIN]));
});

test("finds nothing in other code, and runs none of it", () => {
  const { messages } = readBundles(["throw new Error('this code was run');"]);
  expect(messages.size).toBe(0);
});
