import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addServers, approveServers, removeServer } from "../../../src/mcp/servers/edit-servers.ts";
import { findServers } from "../../../src/mcp/servers/server-files.ts";

let root = "";
const at = (...parts: string[]) => join(root, ...parts);

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "excursor-mcp-"));
  for (const folder of ["home", "project/.cursor", "bin"]) mkdirSync(at(folder), { recursive: true, mode: 0o700 });
  writeFileSync(at("bin/run"), "#!/bin/sh\n", { mode: 0o755 });
});
afterEach(() => rmSync(root, { recursive: true }));

const find = (environment: Readonly<Record<string, string>> = {}) =>
  findServers({
    home: at("home"),
    project: at("project"),
    userHome: at(),
    environment: { PATH: at("bin"), EXCURSOR_TOKEN: "canary", ...environment },
  });
const names = (found = find()) => ({
  servers: found.servers.map(({ name }) => name),
  unapproved: found.unapproved.map(({ server }) => server.name),
});
const write = (file: string, servers: object) =>
  writeFileSync(at(file), JSON.stringify({ mcpServers: servers }), { mode: 0o600 });

describe("where servers come from", () => {
  it("nothing is there at first", () => {
    expect(names()).toEqual({ servers: [], unapproved: [] });
  });

  it("the user's own file counts; adding and removing change it and nothing else in it", async () => {
    writeFileSync(at("home/mcp.json"), JSON.stringify({ note: 1, keys: { laptop: ["a"] } }), { mode: 0o600 });
    await addServers(at("home"), { a: { command: "run" }, b: { url: "https://x" } }, { replaces: false });
    expect(names()).toEqual({ servers: ["a", "b"], unapproved: [] });
    expect(find().keys).toEqual({ laptop: ["a"] });
    await expect(addServers(at("home"), { a: { command: "other" } }, { replaces: false })).rejects.toThrow(
      "A server named a already exists.",
    );
    await removeServer(at("home"), "a");
    await expect(removeServer(at("home"), "a")).rejects.toThrow("There is no server named a; known servers: b.");
    expect(names().servers).toEqual(["b"]);
  });

  const entry = { command: "run", args: ["x"], env: { TOKEN: `\${MINE:-none}` }, cwd: "/tmp" };
  const changes: readonly (readonly [string, object])[] = [
    ["command", { ...entry, command: "/bin/sh" }],
    ["args", { ...entry, args: ["x", "y"] }],
    ["a name in env", { ...entry, env: { ...entry.env, NODE_OPTIONS: "--require ./evil.js" } }],
    ["a value in env", { ...entry, env: { TOKEN: "other" } }],
    ["cwd", { ...entry, cwd: "/" }],
    ["the transport", { url: "https://evil.example" }],
  ];
  it.each(changes)(
    "one of the project's only after approval, and not after a change of %s (SEC-41)",
    async (_, changed) => {
      write("project/.mcp.json", { a: entry });
      expect(names()).toEqual({ servers: [], unapproved: ["a"] });
      await approveServers(at("home"), find().unapproved);
      expect(names()).toEqual({ servers: ["a"], unapproved: [] });
      write("project/.mcp.json", { a: changed });
      expect(names()).toEqual({ servers: [], unapproved: ["a"] });
      write("project/.mcp.json", { a: entry });
      expect(names().servers).toEqual(["a"]);
    },
  );

  it("not if the command has become another file, either, nor in another project", async () => {
    write("project/.mcp.json", { a: entry });
    await approveServers(at("home"), find().unapproved);
    rmSync(at("bin/run"));
    symlinkSync("/bin/sh", at("bin/run"));
    expect(names().unapproved).toEqual(["a"]);
  });

  it.each([
    ["by a path to it", { command: "run", args: ["node_modules/pkg/server.js"] }],
    ["by its name", { command: "npx", args: ["-y", "pkg"] }],
  ])("not if the package has become another version, either, %s (SEC-41)", async (_, server) => {
    const install = (version: string) =>
      writeFileSync(at("project/node_modules/pkg/package.json"), JSON.stringify({ name: "pkg", version }));
    mkdirSync(at("project/node_modules/pkg"), { recursive: true });
    writeFileSync(at("project/node_modules/pkg/server.js"), "");
    install("1.0.0");
    write("project/.mcp.json", { a: server });
    await approveServers(at("home"), find().unapproved);
    expect(names().servers).toEqual(["a"]);
    install("1.0.1");
    expect(names().unapproved).toEqual(["a"]);
    install("1.0.0");
    expect(names().servers).toEqual(["a"]);
  });

  it("nor if it is to be signed in to otherwise (SEC-41)", async () => {
    write("project/.mcp.json", { a: { url: "https://a.example/mcp" } });
    await approveServers(at("home"), find().unapproved);
    expect(names().servers).toEqual(["a"]);
    for (const oauth of [{ scope: "admin" }, { issuer: "https://b.example" }, { callbackPort: 4000 }]) {
      write("project/.mcp.json", { a: { url: "https://a.example/mcp", oauth } });
      expect(names().unapproved).toEqual(["a"]);
    }
  });

  it("a command of a project's that cannot be a file keeps nobody from starting", () => {
    const command = "x".repeat(5000);
    write("project/.mcp.json", { a: { command }, b: { command: "\u0000", args: [command, "\u0000"] } });
    expect(names()).toEqual({ servers: [], unapproved: ["a", "b"] });
  });

  it("a project cannot take the place of a server of the user's", async () => {
    write("home/mcp.json", { a: { command: "run" } });
    write("project/.cursor/mcp.json", { a: { command: "evil" }, b: { command: "run" } });
    expect(names()).toEqual({ servers: ["a"], unapproved: ["b"] });
    expect(find().servers).toMatchObject([{ command: "run" }]);
  });

  it("our own secrets are no variables for it", () => {
    write("project/.mcp.json", { a: { url: "https://x", headers: { k: `\${EXCURSOR_TOKEN}` } } });
    expect(find().problems).toEqual([
      { server: "a", text: `.mcp.json: mcpServers.a.headers.k: the variable \${EXCURSOR_TOKEN} is not set.` },
    ]);
  });

  it("a broken file of the project's is told, the user's own stops us", () => {
    writeFileSync(at("project/.mcp.json"), "{ nonsense");
    expect(find().problems).toEqual([
      expect.objectContaining({ text: expect.stringContaining("expected a JSON object") }),
    ]);
    writeFileSync(at("home/mcp.json"), "[]", { mode: 0o600 });
    expect(() => find()).toThrow("expected a JSON object");
  });

  it("allow-lists that cannot be read stop us: somebody wanted to keep something from somebody", () => {
    writeFileSync(at("home/mcp.json"), JSON.stringify({ keys: { a: "x" } }), { mode: 0o600 });
    expect(() => find()).toThrow("keys: expected an object");
  });

  it("a file with secrets is for its owner alone", () => {
    write("home/mcp.json", { a: { command: "run", env: { KEY: "x" } } });
    chmodSync(at("home/mcp.json"), 0o644);
    expect(() => find()).toThrow("Other users can access");
  });
});
