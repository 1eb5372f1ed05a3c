import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../../src/core/errors.ts";
import type { Turn } from "../../../../src/core/turn.ts";
import { CALLS, call, STOP, say } from "../../../faces/cursor/support/models.ts";
import { SdkProcess } from "../../support/sdk-process.ts";
import { makeFolder, OWN, rounds, setUpOwnRuns, TRANSPORTS } from "./support/stage.ts";

describe.each(TRANSPORTS)("errors that the official client shows, over %s", (hostConfig) => {
  it("have title and detail, and the conversation goes on", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(hostConfig, (_turn, nth) => {
      if (nth > 0) return [say("fine"), STOP];
      throw new ExcursorError("rate-limited", "The model is busy.", { hint: "Wait a minute.", retryable: false });
    });
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const failed = await sdk.send("a", "go");
    expect([failed.status, failed.error]).toEqual(["error", "The model is busy. Wait a minute."]);
    expect(await sdk.send("a", "again")).toMatchObject({ status: "finished", text: "fine" });
    expect(turns).toHaveLength(2);
    // Our own models are listed to this account; a name that is not in the list is refused by the client itself.
    await expect(sdk.create("b", { ...agent, model: { id: "excursor/none" } })).rejects.toThrow("excursor/none");
  });

  it("name a model that has gone since it was listed", async () => {
    const { startSdk, agent } = await setUpOwnRuns(hostConfig, rounds(), { model: "gone" });
    await using sdk = startSdk();
    await sdk.create("a", agent);
    const { status, error } = await sdk.send("a", "go");
    expect(status).toBe("error");
    expect(error).toContain("gone");
  });

  it("come before a second attempt: a run that cannot work is not begun again", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(hostConfig, (_turn: Turn, nth: number) => {
      if (nth === 0) return [call("c1", "shell", { command: "echo x >> effects" }), CALLS];
      throw new ExcursorError("invalid-request", "The model refuses this.", { hint: "Ask for something else." });
    });
    await using sdk = startSdk();
    await sdk.create("a", { ...agent, local: { ...agent.local, enableAgentRetries: true } });
    const { status, error } = await sdk.send("a", "go");
    expect([status, error]).toEqual(["error", "The model refuses this. Ask for something else."]);
    expect(readFileSync(join(cwd, "effects"), "utf8")).toBe("x\n");
    expect(turns).toHaveLength(2);
  });

  it("stop a model that calls the same tool for ever, and one that takes too many steps", async () => {
    const { startSdk, turns, agent } = await setUpOwnRuns(
      hostConfig,
      ({ messages }, nth) => {
        const isSame = JSON.stringify(messages[0]).includes("same");
        return [call(`c${nth}`, "slow", { ms: 1, text: isSame ? "same" : `step ${nth}` }), CALLS];
      },
      { parts: { maxSteps: 6 } },
    );
    await using sdk = startSdk();
    for (const prompt of ["same", "other"]) {
      await sdk.create(prompt, agent);
      const { status, error } = await sdk.send(prompt, prompt);
      expect([status, error]).toEqual([
        "error",
        "The model keeps calling tools without getting anywhere, so it was stopped. Ask in another way, or choose another model.",
      ]);
    }
    expect(sdk.slowTexts.filter((text) => text === "same")).toHaveLength(3);
    expect(sdk.slowTexts.filter((text) => text.startsWith("step"))).toHaveLength(6);
    expect(turns.length).toBeLessThan(20);
  });
});

describe.each(TRANSPORTS)("bad input that the official client is told of, over %s", (hostConfig) => {
  it("a state whose blobs are missing", async () => {
    let isLost = false;
    const { startSdk, turns, agent } = await setUpOwnRuns(hostConfig, () => [say("fine"), STOP], {
      beforeMessage({ message }) {
        if (!isLost || message.case !== "kvClientMessage" || message.value.message.case !== "getBlobResult") return;
        message.value.message.value.blobData = undefined;
        return "changed";
      },
    });
    await using sdk = startSdk();
    await sdk.create("a", agent);
    expect((await sdk.send("a", "go")).status).toBe("finished");
    isLost = true;
    const { status, error } = await sdk.send("a", "again");
    expect([status, error]).toEqual([
      "error",
      expect.stringMatching(/^Blob not found: .* Start a new conversation\.$/),
    ]);
    expect(turns).toHaveLength(1);
    isLost = false;
    expect(await sdk.send("a", "once more")).toMatchObject({ status: "finished", text: "fine" });
  });

  it("an exec result without a call", async () => {
    const { startSdk, turns, cwd, agent } = await setUpOwnRuns(
      hostConfig,
      rounds([call("c1", "shell", { command: "echo x >> effects" }), CALLS]),
      {
        beforeMessage({ message }) {
          if (message.case !== "execClientMessage" || message.value.message.case === "requestContextResult") return;
          message.value.id = 4711;
          return "changed";
        },
      },
    );
    await using sdk = startSdk();
    await sdk.create("a", { ...agent, local: { ...agent.local, enableAgentRetries: true } });
    const { status, error } = await sdk.send("a", "go");
    expect([status, error]).toEqual(["error", expect.stringContaining("Start the run again.")]);
    expect(turns).toHaveLength(1);
    expect(readFileSync(join(cwd, "effects"), "utf8")).toBe("x\n");
  });

  it("a login of another account", async () => {
    const { url, agent, turns } = await setUpOwnRuns(hostConfig, rounds());
    await using sdk = new SdkProcess({ url, home: makeFolder(), apiKey: "somebody-else" });
    await sdk.create("a", { ...agent, model: { id: "composer-2.5" } });
    // That account's list does not have our models, so the client sends nothing. `bad-input.test.ts` has a client that does.
    await expect(sdk.send("a", "go", undefined, { model: OWN })).rejects.toThrow(
      "Cannot use this model: excursor/local",
    );
    expect(turns).toEqual([]);
  });

  it("a key that was revoked in the middle of a run", async () => {
    const { url, keys, agent, turns } = await setUpOwnRuns(hostConfig, rounds([call("c1", "hang", {}), CALLS]));
    await using sdk = new SdkProcess({ url, home: makeFolder(), apiKey: "exc_guest" });
    await sdk.create("a", agent);
    const called = sdk.toolCalled("hang");
    const running = sdk.send("a", "go");
    await called;
    keys.delete("exc_guest");
    const { status, error } = await running;
    expect(status).toBe("error");
    expect(error).toContain("is not valid, or no longer. `excursor key` prints the key.");
    expect(turns).toHaveLength(1);
  });
});
