import fc from "fast-check";
import { parse as parseJson } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import { parse as parseYaml, stringify } from "yaml";
import { RECIPES } from "../../src/client-config/recipes/index.ts";
import { undoEdit } from "../../src/client-config/undo-edit.ts";
import { Secret } from "../../src/core/secret.ts";

const model = { id: "auto", name: "Auto", aliases: [], window: 200_000, isThinking: false, supportsImages: true };
const gateway = { url: "http://127.0.0.1:8787", key: new Secret("the-key"), model: "auto", models: [model] };
const machine = { home: "/h", platform: "linux", environment: {}, exists: () => false } as const;

const BEFORE: Readonly<Record<string, string>> = {
  "claude-code": '{\n  // mine\n  "env": { "A": "1", "ANTHROPIC_MODEL": "sonnet" },\n  "hooks": {}\n}\n',
  codex: 'model = "o3"\napproval_policy = "never"\n\n[mcp_servers.a]\nname = "a"\n',
  continue: "name: Mine\nmodels:\n  - name: Other\n    provider: openai\n",
  aider: "auto-commits: false\nmodel: gpt\n",
  vscode: '[{ "name": "Other", "vendor": "customendpoint" }]\n',
  "open-webui": "A=1\nOPENAI_API_KEY=mine\n",
};

const all = RECIPES.map((recipe) => {
  const before = BEFORE[recipe.id] ?? "";
  const file = recipe.file(machine);
  const tree = /\.jsonc?$/.test(file) ? parseJson : /\.ya?ml$/.test(file) ? parseYaml : undefined;
  return { id: recipe.id, file, tree, before, after: recipe.edit(before, gateway) };
});
const trees = all.filter(({ tree }) => tree !== undefined);
const lines = all.filter(({ tree }) => tree === undefined);

describe("a configuration without our edit", () => {
  it.each(all)("$id: of its own accord it is what it was", ({ file, before, after, tree }) => {
    const left = undoEdit(file, { before, after, now: after });
    if (tree) expect(tree(left) ?? tree(before)).toEqual(tree(before));
    else expect(left.split("\n").filter(Boolean).sort()).toEqual(before.split("\n").filter(Boolean).sort());
    expect(left).not.toContain(gateway.url);
  });

  it.each(trees)(
    "$id: keeps what the client has added while it wrote the file anew",
    ({ file, before, after, tree }) => {
      const value = tree?.(after) as object;
      const added = Array.isArray(value) ? [...value, { name: "new" }] : { ...value, added: { by: ["the client"] } };
      const now = /json/.test(file) ? JSON.stringify(added, null, "\t") : stringify(added);
      const old = (tree?.(before) as object | undefined) ?? (Array.isArray(value) ? [] : {});
      const wanted = Array.isArray(old) ? [...old, { name: "new" }] : { ...old, added: { by: ["the client"] } };
      const left = tree?.(undoEdit(file, { before, after, now }));
      if (Array.isArray(wanted)) expect(left).toEqual(expect.arrayContaining(wanted));
      else expect(left).toEqual(wanted);
      expect(JSON.stringify(left)).not.toMatch(/127\.0\.0\.1|the-key/);
    },
  );

  it.each(lines)("$id: keeps lines that were added, and comments", ({ file, before, after }) => {
    const now = `# a comment\n${after}# the end\nZ = 1\n`;
    const left = undoEdit(file, { before, after, now });
    for (const line of ["# a comment", "# the end", "Z = 1", ...before.split("\n")]) expect(left).toContain(line);
    expect(left).not.toMatch(/127\.0\.0\.1|the-key/);
  });

  it("keeps a value that was chosen since, and comments", () => {
    const { file, before, after } = all.find(({ id }) => id === "claude-code") ?? expect.unreachable();
    const now = after.replace('"ANTHROPIC_MODEL": "auto"', '"ANTHROPIC_MODEL": "opus"');
    const left = undoEdit(file, { before, after, now });
    expect(parseJson(left)).toEqual({ env: { A: "1", ANTHROPIC_MODEL: "opus" }, hooks: {} });
    expect(left).toContain("// mine");
    const codex = all.find(({ id }) => id === "codex") ?? expect.unreachable();
    const chosen = undoEdit(codex.file, { ...codex, now: codex.after.replace('model = "auto"', 'model = "o4"') });
    expect(chosen).toContain('model = "o4"');
    expect(chosen).not.toContain('model = "o3"');
  });

  it("keeps the header of a table of ours to which somebody has added a line", () => {
    const { file, before, after } = all.find(({ id }) => id === "codex") ?? expect.unreachable();
    const left = undoEdit(file, { before, after, now: `${after}query_params = {}\n` });
    expect(left).toMatch(/\[model_providers\.excursor\]\nquery_params = \{\}\n/);
  });

  it("is nothing, if there was nothing", () => {
    for (const recipe of RECIPES) {
      const after = recipe.edit("", gateway);
      const left = undoEdit(recipe.file(machine), { before: "", after, now: `${after}\n` });
      // Continue needs a frame of fields, which is ours, too.
      expect(left.trim(), recipe.id).toBe("");
    }
  });

  it("says if it cannot be read", () => {
    expect(() => undoEdit("a.json", { before: "{}", after: '{"a":1}', now: "{" })).toThrow(/cannot be read/);
  });

  it("has every later edit of other keys, whatever was there", () => {
    const object = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.jsonValue({ maxDepth: 2 }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(object, object, object, (before, ours, later) => {
        const after = {
          ...before,
          ...Object.fromEntries(Object.entries(ours).map(([name, value]) => [`x${name}`, value])),
        };
        const text = (value: object) => JSON.stringify(value);
        const edits = Object.fromEntries(Object.entries(later).map(([name, value]) => [`y${name}`, value]));
        const left = undoEdit("a.json", {
          before: text(before),
          after: text(after),
          now: text({ ...after, ...edits }),
        });
        expect(JSON.parse(left)).toEqual(JSON.parse(text({ ...before, ...edits })));
      }),
      { numRuns: 200 },
    );
  });
});
