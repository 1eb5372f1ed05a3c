import { parse as parseJson } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { editJson } from "../../src/client-config/edit-json.ts";
import { editToml } from "../../src/client-config/edit-toml.ts";
import { editYaml } from "../../src/client-config/edit-yaml.ts";

describe("JSON", () => {
  it("keeps comments, order and what it does not know", () => {
    const text = '// mine\n{\n    "theme": "dark", // nice\n    "env": { "A": "1" },\n}\n';
    const edited = editJson(text, [
      [["env", "B"], "2"],
      [["a", "b"], { c: [1] }],
    ]);
    expect(edited).toContain("// mine");
    expect(edited).toContain('"theme": "dark", // nice');
    expect(parseJson(edited)).toEqual({ theme: "dark", env: { A: "1", B: "2" }, a: { b: { c: [1] } } });
  });

  it.each([
    ["", {}],
    ["  \n", {}],
    ['{"x":1}', { x: 1 }],
  ])("%j is enough to begin with", (text, before) => {
    expect(parseJson(editJson(text, [[["y"], 2]]))).toEqual({ ...before, y: 2 });
  });

  it("overwrites a value of another kind", () => {
    expect(parseJson(editJson('{"model":["a"]}', [[["model"], "b"]]))).toEqual({ model: "b" });
  });

  it.each(["{", "[]", "5", '{"a":}', "nonsense"])("%j is not touched", (text) => {
    expect(() => editJson(text, [[["y"], 2]])).toThrow(/cannot be read/);
  });
});

describe("YAML", () => {
  it("keeps comments and what it does not know", () => {
    const edited = editYaml("# mine\nmodel: a # old\nlist:\n  - 1\n", (document) => document.set("model", "b"));
    expect(edited).toContain("# mine");
    expect(parseYaml(edited)).toEqual({ model: "b", list: [1] });
  });

  it.each(["", "\n", "# only a comment\n", "---\n"])("%j is enough to begin with", (text) => {
    const edited = editYaml(text, (document) => document.set("model", "b"));
    expect(parseYaml(edited)).toEqual({ model: "b" });
    expect(edited).not.toContain("{");
  });

  it.each(["- a\n", "just text", "a: [", "a: b: c"])("%j is not touched", (text) => {
    expect(() => editYaml(text, () => {})).toThrow(/cannot be read/);
  });
});

describe("TOML", () => {
  const edit = (text: string) => editToml(text, { model: "m", model_provider: "x" }, ["p.x", { url: "u", n: 1 }]);
  const table = '\n[p.x]\nurl = "u"\nn = 1\n';

  it("sets keys before the first table, and its own table at the end", () => {
    expect(edit("")).toBe(`model = "m"\nmodel_provider = "x"\n${table}`);
    const text = '# mine\nmodel = "old"\nkeep = 1\n\n[other]\nmodel = "not this one"\n';
    expect(edit(text)).toBe(
      `model = "m"\nmodel_provider = "x"\n# mine\nkeep = 1\n\n[other]\nmodel = "not this one"\n${table}`,
    );
  });

  it("replaces its own table, with those inside it, and is the same when it is done twice", () => {
    const text = 'a = 1\n\n[p.x]\nurl = "old"\n\n[p.x.more]\nb = 2\n\n[p."y"]\nc = 3\n';
    const once = edit(text);
    expect(once).toBe(`model = "m"\nmodel_provider = "x"\na = 1\n\n[p."y"]\nc = 3\n${table}`);
    expect(edit(once)).toBe(once);
  });

  it("is not misled by lists and texts over several lines", () => {
    const text = 'list = [\n  [1],\n  ["["],\n]\ntext = """\n[not a table]\nmodel = "no key"\n"""\n\n[t]\nx = 1\n';
    const edited = edit(text);
    expect(edited).toContain('text = """\n[not a table]\n');
    expect(edited).toContain("list = [\n  [1],\n");
    expect(edited.indexOf("model_provider")).toBeLessThan(edited.indexOf("[t]"));
  });
});
