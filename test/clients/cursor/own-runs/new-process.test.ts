import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Turn, textOf } from "../../../../src/core/turn.ts";
import { CALLS, call, STOP, say } from "../../../faces/cursor/support/models.ts";
import { setUpOwnRuns, TRANSPORTS } from "./support/stage.ts";

describe.each(TRANSPORTS)("the official client in a new process, over %s", (hostConfig) => {
  it("goes on after it was killed in the middle of a tool, and executes nothing again", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(hostConfig, (_turn: Turn, nth: number) =>
      nth === 0
        ? [
            { type: "thinking", text: "hm" },
            { type: "thinking-done", durationMs: 3, signature: "sig" },
            call("c1", "shell", { command: "echo x >> effects" }),
            call("c2", "hang", {}),
            CALLS,
          ]
        : [say("taken up"), STOP],
    );
    const killed = startSdk();
    const agentId = await killed.create("a", agent);
    const running = killed.send("a", "go");
    running.catch(() => {});
    await killed.toolCalled("hang");
    await expect.poll(() => existsSync(join(cwd, "effects")), { timeout: 30_000 }).toBe(true);
    await killed.kill();
    await expect(running).rejects.toThrow();

    await using sdk = startSdk();
    await sdk.resume("a", agentId, agent);
    // The client keeps the run of the killed process as the active one until it is told to drop it.
    const outcome = await sdk.send("a", "where were we?", undefined, { local: { force: true } });
    expect([outcome.status, outcome.text, outcome.error]).toEqual(["finished", "taken up", undefined]);
    expect(readFileSync(join(cwd, "effects"), "utf8")).toBe("x\n");
    const messages = turns[1]?.messages ?? [];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(messages[1]?.content[0]).toEqual({ type: "thinking", text: "hm", signature: "sig" });
    expect(textOf(messages[4]?.content ?? [])).toBe("where were we?");
    expect((await sdk.send("a", "and now?")).status).toBe("finished");
  });
});
