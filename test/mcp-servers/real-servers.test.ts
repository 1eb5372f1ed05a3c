import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createHub } from "../../src/mcp/hub.ts";
import { readToolResult } from "../../src/mcp/tools/tool-result.ts";
import { setUpGateway } from "../gateway/support/gateway-process.ts";
import { connectionTo, context, scripted, textOf } from "../mcp/support/stage.ts";
import { program, startEverything, type TransportName } from "./support/everything.ts";

const OWNER = { id: "owner", token: undefined };

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "excursor-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe.each<TransportName>(["stdio", "http", "sse"])("server-everything over %s", (transport) => {
  it("lists, calls, reports progress, asks, and gives images", async () => {
    const { config } = await startEverything(transport);
    const { connection } = connectionTo(config);
    expect(textOf(await connection.call("echo", { message: "hi" }, context))).toBe("Echo: hi");
    expect(connection.about.transport).toBe(transport);
    expect(connection.tools.length).toBeGreaterThan(10);
    expect(connection.problems).toEqual([]);

    const steps: number[] = [];
    const long = await connection.call(
      "trigger-long-running-operation",
      { duration: 1, steps: 4 },
      {
        ...context,
        onProgress: ({ progress }) => steps.push(progress),
      },
    );
    expect(textOf(long)).toContain("completed");
    // The last one is often overtaken by the result.
    expect(steps.slice(0, 3)).toEqual([1, 2, 3]);

    const answers = {
      accept: "User provided the requested information",
      decline: "declined",
      cancel: "cancelled",
    } as const;
    for (const action of ["accept", "decline", "cancel"] as const) {
      const result = await connection.call(
        "trigger-elicitation-request",
        {},
        {
          ...context,
          elicit: async ({ message }) => {
            expect(message).toContain("provide");
            return action === "accept" ? { action, content: { name: "Ada" } } : { action };
          },
        },
      );
      expect(textOf(result)).toContain(answers[action]);
    }

    const image = readToolResult(await connection.call("get-tiny-image", {}, context));
    expect(image.content).toContainEqual(expect.objectContaining({ type: "image", mediaType: "image/png" }));
    const structured = await connection.call("get-structured-content", { location: "New York" }, context);
    expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) });
  });

  it("a call that reports progress outlives its time limit, one that does not is cut off", async () => {
    const { config } = await startEverything(transport);
    const { connection } = connectionTo(config, { callMs: 1500 });
    await connection.connect();
    const args = (steps: number) => ({ duration: 4, steps });
    expect(textOf(await connection.call("trigger-long-running-operation", args(8), context))).toContain("completed");
    await expect(connection.call("trigger-long-running-operation", args(1), context)).rejects.toMatchObject({
      code: "mcp_timeout",
    });
  });
});

describe.each<TransportName>(["http", "sse"])("server-everything over %s, restarted", (transport) => {
  it("is found again with a new session, and the call is made", async () => {
    const { config, restart } = await startEverything(transport);
    const { connection } = connectionTo(config);
    await connection.call("echo", { message: "1" }, context);
    await restart();
    await vi.waitFor(async () => {
      expect(textOf(await connection.call("echo", { message: "2" }, context))).toBe("Echo: 2");
    }, 20_000);
    // The new session knows what we can do.
    const elicit = async () => ({ action: "decline" }) as const;
    expect(textOf(await connection.call("trigger-elicitation-request", {}, { ...context, elicit }))).toContain(
      "declined",
    );
  });

  it("killed in the middle of a call, that one is an error, and the next works", async () => {
    const { config, restart } = await startEverything(transport);
    const { connection } = connectionTo(config, { callMs: 5000 });
    await connection.connect();
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const cut = expect(
      connection.call(
        "trigger-long-running-operation",
        { duration: 30, steps: 60 },
        { ...context, onProgress: () => begun() },
      ),
    ).rejects.toThrow('"everything"');
    await hasBegun;
    await restart();
    await cut;
    await vi.waitFor(async () => {
      expect(textOf(await connection.call("echo", { message: "2" }, context))).toBe("Echo: 2");
    }, 20_000);
  });
});

it("server-everything on stdio, killed in the middle of a call: that one is an error, and the next works", async () => {
  const { config } = await startEverything("stdio");
  const { connection } = connectionTo(config);
  const environment = JSON.parse(textOf(await connection.call("get-env", {}, context)));
  expect(JSON.stringify(environment)).not.toContain("canary-of-ours");
  const cut = expect(
    connection.call("trigger-long-running-operation", { duration: 30, steps: 3 }, context),
  ).rejects.toThrow(/SIGKILL/);
  const { stdout } = spawnSync("pgrep", ["-P", String(process.pid), "-f", "server-everything"], { encoding: "utf8" });
  for (const pid of stdout.trim().split("\n")) process.kill(Number(pid), "SIGKILL");
  await cut;
  expect(textOf(await connection.call("echo", { message: "2" }, context))).toBe("Echo: 2");
});

it("server-filesystem and server-memory in one catalogue, used by a model through the gateway", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "a.txt"), "what the file says");
  const stage = await setUpGateway();
  const mcpServers = {
    fs: { command: process.execPath, args: [program("server-filesystem"), folder] },
    memory: {
      command: process.execPath,
      args: [program("server-memory")],
      env: { MEMORY_FILE_PATH: join(folder, "memory.json") },
    },
  };
  writeFileSync(join(stage.home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  const { client } = await stage.start("--tools", "hub");
  const entity = { name: "excursor", entityType: "gateway", observations: ["it works"] };
  const prompt = [
    `@sim call fs__read_text_file ${JSON.stringify({ path: join(folder, "a.txt") })}`,
    "wait",
    `call memory__create_entities ${JSON.stringify({ entities: [entity] })}`,
    `call fs__write_file ${JSON.stringify({ path: join(folder, "b.txt"), content: "written" })}`,
    "say {{result.0}}",
  ].join(" ;; ");
  const { choices } = await client.chat.completions.create({
    model: "gpt-5.5",
    messages: [{ role: "user", content: prompt }],
  });
  expect(choices[0]?.message.content).toContain("what the file says");
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("written");
  expect(readFileSync(join(folder, "memory.json"), "utf8")).toContain("it works");
});

it("with more tools than a model should read, it searches and calls", async () => {
  const folder = temporaryFolder();
  const hub = createHub({
    patienceMs: 20_000,
    servers: [
      scripted({}, { name: "fs", args: [program("server-filesystem"), folder] }),
      scripted({}, { name: "everything", args: [program("server-everything")] }),
    ],
    environment: process.env,
    searchAbove: 10,
  });
  onTestFinished(() => hub.close());
  const box = await hub.open(OWNER, context.signal);
  expect(box.tools.map(({ name }) => name)).toEqual(["hub_search", "hub_call"]);
  const found = await box.call("hub_search", { query: "write text to a file" }, context);
  expect(textOf(found)).toContain("fs__write_file");
  const args = { path: join(folder, "x.txt"), content: "by search" };
  expect((await box.call("hub_call", { name: "fs__write_file", arguments: args }, context)).isError).toBe(false);
  expect(readFileSync(join(folder, "x.txt"), "utf8")).toBe("by search");
});
