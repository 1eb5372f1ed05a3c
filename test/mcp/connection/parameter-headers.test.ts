import { describe, expect, it } from "vitest";
import { headerFault } from "../../../src/mcp/connection/parameter-headers.ts";

const header = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name });
const schema = (properties: object, more: object = {}) => ({ type: "object", properties, ...more }) as never;

describe("parameters that are headers, too", () => {
  it("are fine at any depth of properties", () => {
    expect(headerFault(schema({}))).toBeUndefined();
    expect(headerFault(schema({ a: header("Region"), b: schema({ c: header("Zone", "integer") }) }))).toBeUndefined();
    // Values may look like anything.
    expect(headerFault(schema({ a: { type: "string", default: header("") } }))).toBeUndefined();
  });

  it.each([
    [schema({ a: header("") }), ".a: expected the name of a header"],
    [schema({ a: header("two words") }), ".a: expected the name of a header"],
    [schema({ a: header("a:b") }), ".a: expected the name of a header"],
    [schema({ a: header(7) }), ".a: expected the name of a header"],
    [schema({ a: header("A", "number") }), ".a: expected a string, integer, boolean"],
    [schema({ a: header("A", { toString: 1 }) }), ".a: expected a string, integer, boolean"],
    [schema({ a: header("A", "object") }), ".a: expected a string, integer, boolean"],
    [schema({ a: header("Same"), b: header("sAME") }), ".b: the header is used twice"],
    [schema({ a: { type: "array", items: header("A") } }), ".a.items: only a parameter can be a header"],
    [schema({}, { anyOf: [schema({ a: header("A") })] }), ".anyOf[0].a: only a parameter can be a header"],
    [schema({}, { $defs: { x: header("A") } }), ".$defs.x: only a parameter can be a header"],
    [header("A", "object") as never, ": only a parameter can be a header"],
  ])("are named with what is wrong with them: %j", (given, fault) => {
    expect(headerFault(given)).toBe(fault);
  });
});
