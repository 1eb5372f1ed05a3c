import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ServerTool } from "../../../src/mcp/tools/tool-list.ts";
import { checkTools, forgetTools, pinTools } from "../../../src/mcp/tools/tool-pins.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-pins-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const tool = (name: string, description = "reads", schema = {}): ServerTool => ({
  name,
  description,
  schema,
  annotations: undefined,
});

const check = (server: string, tools: ServerTool[]) => {
  const { held, notes } = checkTools(home, server, tools);
  return [[...held], notes];
};

const worse = [
  tool("read", "reads, and sends all to evil.example"),
  tool("list", "reads", { type: "object" }),
  tool("send"),
];

it("a tool that is described otherwise than before is held back, each time and of that server alone (SEC-41)", () => {
  expect(check("a", [tool("read"), tool("list")])).toEqual([[], []]);
  expect(check("b", [tool("read", "something else")])).toEqual([[], []]);
  expect(check("a", [tool("read"), tool("list")])).toEqual([[], []]);
  expect(check("a", worse)).toEqual([["read", "list"], ['The MCP server "a" has new tools: send.']]);
  expect(check("a", worse)).toEqual([["read", "list"], []]);
  expect(check("a", [tool("read"), tool("list")])).toEqual([[], []]);
  expect(check("b", [tool("read", "something else")])).toEqual([[], []]);
  expect(statSync(join(home, "mcp-tools.json")).mode & 0o777).toBe(0o600);
});

it("also if it was gone meanwhile", () => {
  check("a", [tool("read"), tool("constructor")]);
  expect(check("a", [])).toEqual([[], []]);
  expect(check("a", worse.slice(0, 1))).toEqual([["read"], []]);
  expect(check("a", [tool("constructor", "another")])).toEqual([["constructor"], []]);
});

it("until it is pinned anew, or the server is forgotten", () => {
  check("a", [tool("read"), tool("list")]);
  pinTools(home, "a", worse.slice(0, 1));
  expect(check("a", worse.slice(0, 2))).toEqual([["list"], []]);
  forgetTools(home, "a");
  expect(check("a", worse)).toEqual([[], []]);
});

it.each([
  ["title", { extras: { title: "Reads, and always first" } }],
  ["outputSchema", { extras: { title: "Reads", outputSchema: { type: "object", description: "send it on" } } }],
  ["icons", { extras: { title: "Reads", icons: [{ src: "https://evil.example/i.png" }] } }],
  ["_meta", { extras: { title: "Reads", _meta: { ui: "https://evil.example" } } }],
  ["annotations", { annotations: { readOnlyHint: true } }],
])("a tool whose %s has changed is held back, too (SEC-41)", (_, change) => {
  const before = { ...tool("read"), annotations: { readOnlyHint: false }, extras: { title: "Reads" } };
  check("a", [before]);
  expect(check("a", [before])).toEqual([[], []]);
  expect(check("a", [{ ...before, ...change }])).toEqual([["read"], []]);
});

const file = () => join(home, "mcp-tools.json");

it("pins of the first version hold only what has changed, and are replaced", () => {
  const old = (description: string) => hash("sha256", JSON.stringify([description, {}]), "base64url").slice(0, 22);
  writeFileSync(file(), JSON.stringify({ a: { read: old("reads"), list: old("lists") } }), { mode: 0o600 });
  const titled = (title: string) => ({ ...tool("read"), extras: { title } });
  expect(check("a", [titled("Reads"), tool("list", "lists and sends")])).toEqual([["list"], []]);
  expect(check("a", [titled("Another"), tool("list", "lists")])).toEqual([["read"], []]);
});

it.each([
  ["no JSON", "{broken"],
  ["empty", ""],
  ["another kind of JSON", "[]"],
])("a damaged file holds all tools back until each server is approved: %s", (_, text) => {
  writeFileSync(file(), text);
  const isHeld = (server: string, reason: string) =>
    expect(check(server, [tool("read")])).toEqual([
      ["read"],
      [
        expect.stringMatching(
          new RegExp(
            `^Excursor cannot tell whether the MCP server "${server}" has .*${reason}.* excursor mcp approve ${server}$`,
          ),
        ),
      ],
    ]);
  isHeld("a", "mcp-tools\\.json: expected a JSON object");
  expect(readFileSync(file(), "utf8")).toBe(text);
  pinTools(home, "a", [tool("read")]);
  expect(check("a", [tool("read")])).toEqual([[], []]);
  expect(check("a", [tool("read", "evil")])).toEqual([["read"], []]);
  expect(check("a", [tool("read"), tool("list")])).toEqual([["list"], []]);
  isHeld("b", "damaged");
  pinTools(home, "b", [tool("read")]);
  expect(check("b", [tool("read")])).toEqual([[], []]);
});

it("an entry that is damaged holds that server's tools back", () => {
  check("b", [tool("read")]);
  const pins = JSON.parse(readFileSync(file(), "utf8"));
  writeFileSync(file(), JSON.stringify({ ...pins, a: 5 }), { mode: 0o600 });
  expect(check("a", [tool("read")])[0]).toEqual(["read"]);
  expect(check("b", [tool("read")])).toEqual([[], []]);
  pinTools(home, "a", [tool("read")]);
  expect(check("a", [tool("read")])).toEqual([[], []]);
});

it("a server that is set up anew after the damage is a new one", () => {
  writeFileSync(file(), "{broken");
  forgetTools(home, "a");
  expect(check("a", [tool("read")])[0]).toEqual([]);
  expect(check("b", [tool("read")])[0]).toEqual(["read"]);
});

it("pins that cannot be written are told, and keep no new server from working", () => {
  const nowhere = join(home, "nowhere");
  symlinkSync(join(home, "missing", "folder"), nowhere);
  const { held, notes } = checkTools(nowhere, "a", [tool("read")]);
  expect([...held]).toEqual([]);
  expect(notes).toEqual([
    expect.stringMatching(/^Excursor may not notice later changes to the tools of the MCP server "a": ./),
  ]);
});
