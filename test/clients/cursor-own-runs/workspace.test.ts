import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../src/core/events.ts";
import { createServeRun } from "../../src/faces/cursor/run/serve-run.ts";
import { CALLS, call, engineWith, STOP, say } from "../faces/cursor/support/models.ts";
import { SIGNED_IN, setUpSim } from "../faces/cursor/support/stage.ts";
import { SdkProcess } from "./support/sdk-process.ts";

const folder = () => mkdtempSync(join(tmpdir(), "excursor-own-"));

async function stage(hostConfig: "h1" | "h2", ...answers: (readonly TurnEvent[])[]) {
  const { engine, turns } = engineWith((_turn, nth) => answers[nth] ?? [say("?"), STOP]);
  const serve = createServeRun({ engine });
  const { url } = await setUpSim({ serveRun: (connection) => serve(connection, "m") }, { hostConfig });
  const home = folder();
  const cwd = folder();
  const sdk = new SdkProcess({ url, home, apiKey: SIGNED_IN });
  const local = { cwd, enableAgentRetries: false };
  return { sdk, turns, cwd, options: { local, model: { id: "excursor/local" } } };
}

describe.each(["h2", "h1"] as const)("the official client with our own models, over %s", (hostConfig) => {
  it("works on a real workspace", async () => {
    const { sdk, turns, cwd, options } = await stage(
      hostConfig,
      [
        { type: "thinking", text: "hm" },
        { type: "thinking-done", durationMs: 3, signature: "sig" },
        say("Working. "),
        call("c1", "edit", { path: "crlf.txt", old_text: "one\ntwo", new_text: "one\n2" }),
        call("c2", "write", { path: "sub/new.txt", content: "new\n" }),
        call("c3", "shell", { command: "echo hi > made.txt && pwd" }),
        CALLS,
      ],
      [
        call("c4", "read", { path: "sub/new.txt" }),
        call("c5", "grep", { pattern: "three" }),
        call("c6", "glob", { pattern: "**/*.txt" }),
        call("c7", "ls", { path: "." }),
        CALLS,
      ],
      [call("c8", "delete", { path: "made.txt" }), CALLS],
      [say("All done."), STOP],
      [say("Second."), STOP],
    );
    await using _ = sdk;
    writeFileSync(join(cwd, "crlf.txt"), "\uFEFFone\r\ntwo\r\nthree\r\n");
    await sdk.create("a", options as never);
    const outcome = await sdk.send("a", "go");
    expect(JSON.stringify(turns[1]?.messages)).toContain(`${cwd}\\n`);
    expect(outcome.status).toBe("finished");
    expect(readFileSync(join(cwd, "crlf.txt"), "utf8")).toBe("\uFEFFone\r\n2\r\nthree\r\n");
    expect(readFileSync(join(cwd, "sub/new.txt"), "utf8")).toBe("new\r\n"); // the official client takes the line ending of the workspace
    expect(existsSync(join(cwd, "made.txt"))).toBe(false);
    const second = await sdk.send("a", "and again");
    expect([second.status, second.text]).toEqual(["finished", "Second."]);
    const kept = turns[4]?.messages ?? [];
    expect(
      kept.flatMap((m) => (m.role === "assistant" ? m.content : [])).find(({ type }) => type === "thinking"),
    ).toMatchObject({ signature: "sig" });
  });

  it("calls custom tools in parallel", async () => {
    const { sdk, options } = await stage(
      hostConfig,
      [call("c1", "look", { at: "x" }), call("c2", "look", { at: "y" }), CALLS],
      [say("looked"), STOP],
    );
    await using _ = sdk;
    await sdk.create("a", options as never);
    const outcome = await sdk.send("a", "go");
    expect([outcome.status, outcome.text]).toEqual(["finished", "looked"]);
  });

  it("cancels in the middle of a tool, and goes on", async () => {
    const { sdk, turns, options } = await stage(hostConfig, [call("c1", "hang", {}), CALLS], [say("fine"), STOP]);
    await using _ = sdk;
    await sdk.create("a", options as never);
    const called = sdk.toolCalled("hang");
    const first = sdk.send("a", "go");
    await called;
    await sdk.cancel("a");
    expect((await first).status).toBe("cancelled");
    const next = await sdk.send("a", "next");
    expect([next.status, next.text, next.error]).toEqual(["finished", "fine", undefined]);
    expect(turns[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  it("obeys tools: []", async () => {
    const { sdk, turns, options } = await stage(hostConfig, [say("ok"), STOP]);
    await using _ = sdk;
    await sdk.create("a", { ...options, tools: [] } as never);
    const outcome = await sdk.send("a", "go");
    expect([outcome.status, turns[0]?.tools.length]).toEqual(["finished", 0]);
  });
});
