import { describe, expect, it } from "vitest";
import { parseVersionedJson } from "../../src/files/versioned-json.ts";

describe("a JSON file with a version", () => {
  it.each([0, 1, 3, 2.5])("is refused if that is not ours but %d", (version) => {
    expect(() => parseVersionedJson("/home/keys.json", JSON.stringify({ version }), 2)).toThrow(
      expect.objectContaining({
        kind: "config",
        code: "file_other_version",
        message: "/home/keys.json is of another version of Excursor. It was not changed.",
      }),
    );
  });

  it.each(["{}", '{"version":2}', '{"version":"3"}', "[]", "null", "1"])("is read as it is otherwise: %s", (text) => {
    expect(parseVersionedJson("f", text, 2)).toEqual(JSON.parse(text));
  });
});
