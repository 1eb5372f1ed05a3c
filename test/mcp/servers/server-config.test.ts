import { describe, expect, it } from "vitest";
import { readServers } from "../../../src/mcp/servers/server-config.ts";

const variables = { environment: { KEY: "k", EMPTY: "" }, userHome: "/home/me", workspaceFolder: "/work" };
const read = (mcpServers: unknown) => readServers(mcpServers, "mcp.json", variables);

describe("mcpServers", () => {
  it("is read as people have it", () => {
    const { servers, problems } = read({
      files: {
        command: "npx",
        args: ["-y", "server", `\${workspaceFolder}`],
        env: { TOKEN: `\${env:KEY}` },
        cwd: `\${userHome}`,
      },
      docs: { url: "https://docs.example/mcp", headers: { authorization: `Bearer \${KEY}` } },
      old: { type: "sse", url: "http://127.0.0.1:9/sse", disabled: true },
      new: { type: "streamable-http", url: "http://10.0.0.1/mcp", protocol: "legacy", unknown: 1 },
    });
    expect(problems).toEqual([]);
    expect(servers).toMatchObject([
      { type: "stdio", name: "files", command: "npx", args: ["-y", "server", "/work"], folder: "/home/me" },
      { type: "http", name: "docs", isFixed: false, isDisabled: false },
      { type: "sse", name: "old", isFixed: true, isDisabled: true },
      { type: "http", name: "new", isFixed: true, protocol: "legacy" },
    ]);
    const [files, docs] = servers;
    expect(files?.type === "stdio" && files.env["TOKEN"]?.reveal()).toBe("k");
    expect(docs?.type === "http" && docs.headers["authorization"]?.reveal()).toBe("Bearer k");
    expect(JSON.stringify(servers)).not.toContain("Bearer k");
  });

  it("names what has no effect, and the server works", () => {
    const { servers, problems, warnings } = read({
      a: { command: "x", type: "stdio", url: "https://a", timeout: 1, autoApprove: ["t"], disabledTools: ["t", "u"] },
      b: { url: "https://b", alwaysAllow: [], constructor: 1 },
      "c/d": { command: "x" },
    });
    expect(problems).toEqual([]);
    expect(servers).toMatchObject([{ name: "a", disabledTools: ["t", "u"] }, { name: "b" }, { name: "c/d" }]);
    expect(warnings).toEqual([
      { server: "a", text: "mcp.json: mcpServers.a.url: unknown field, it has no effect." },
      { server: "a", text: "mcp.json: mcpServers.a.timeout: unknown field, it has no effect." },
      { server: "b", text: "mcp.json: mcpServers.b.constructor: unknown field, it has no effect." },
      {
        server: "c/d",
        text: 'mcp.json: mcpServers.c/d: a name with "/" cannot be used in `keys`; choose another name.',
      },
    ]);
    expect(read({ a: { command: "x", disabledTools: "t" } }).problems).toMatchObject([{ server: "a" }]);
  });

  it("variables may have something in their stead", () => {
    const { servers } = read({
      a: { command: `\${NONE:-run}`, args: [`\${EMPTY}`, `\${NONE:-}`, "$KEY", `$\${KEY}`] },
    });
    expect(servers).toMatchObject([{ command: "run", args: ["", "", "$KEY", "$k"] }]);
  });

  it.each([
    [{ a: {} }, 'mcp.json: mcpServers.a: expected an object with "command" or "url".'],
    [{ a: "npx" }, 'mcp.json: mcpServers.a: expected an object with "command" or "url".'],
    [{ a: null }, 'mcp.json: mcpServers.a: expected an object with "command" or "url".'],
    [{ a: { command: 3 } }, "mcp.json: mcpServers.a.command: Invalid input: expected string, received number"],
    [{ a: { command: "" } }, /^mcp\.json: mcpServers\.a\.command: /],
    [{ a: { command: "x", args: "y" } }, /^mcp\.json: mcpServers\.a\.args: .*expected array/],
    [{ a: { command: "x", args: [1] } }, /^mcp\.json: mcpServers\.a\.args\.0: /],
    [{ a: { command: "x", env: { B: 1 } } }, /^mcp\.json: mcpServers\.a\.env\.B: /],
    [
      { a: { command: "x", env: { B: `\${NONE}` } } },
      `mcp.json: mcpServers.a.env.B: the variable \${NONE} is not set.`,
    ],
    [{ a: { url: "ftp://x" } }, "mcp.json: mcpServers.a.url: expected a URL that begins with https:// or http://."],
    [{ a: { url: "nonsense" } }, /^mcp\.json: mcpServers\.a\.url: expected a URL/],
    [{ a: { url: "https://x", type: "ws" } }, /^mcp\.json: mcpServers\.a\.type: /],
    [{ a: { url: "http://example.com", headers: { k: "v" } } }, /^mcp\.json: mcpServers\.a\.url: expected https/],
    [{ ["n".repeat(300)]: { command: "x" } }, /^mcp\.json: mcpServers\.n{64}: expected a name of 1 to 128/],
    [{ "": { command: "x" } }, /expected a name/],
    [{ "a\u0007": { command: "x" } }, /expected a name/],
    [[], "mcp.json: mcpServers: expected an object."],
    ["x", "mcp.json: mcpServers: expected an object."],
  ])("what is wrong is named with server and field, and the others work: %j", (given, text) => {
    const isObject = typeof given === "object" && !Array.isArray(given);
    const { servers, problems } = read(isObject ? { ...given, good: { command: "x" } } : given);
    expect(problems).toEqual([
      expect.objectContaining({ text: typeof text === "string" ? text : expect.stringMatching(text) }),
    ]);
    expect(servers.map(({ name }) => name)).toEqual(isObject ? ["good"] : []);
  });
});
