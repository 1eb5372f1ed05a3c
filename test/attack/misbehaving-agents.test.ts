import { describe, expect, it } from "vitest";
import { agentTurn, gone, setUpAgent } from "../drivers/acp/support/agent-stage.ts";
import { assistant, open, read, user } from "../drivers/cursor/support/driver-stage.ts";

describe("an agent that misbehaves", () => {
  it("may write to stdout what is no message, and what nobody knows", async () => {
    const { ask } = setUpAgent({ flags: ["--log-first"] });
    const { text, error } = await ask("garbage ;;odd ;;foreign ;;say still here");
    expect(error).toBeUndefined();
    expect(text).toBe("still here");
  });

  it("is ended when it says too much in one line, and starts again", async () => {
    const { ask, noted } = setUpAgent({ limits: { messageBytes: 1024 * 1024 } });
    const { error } = await ask("huge");
    expect(error).toMatchObject({ kind: "upstream-protocol", code: "agent_message_too_large" });
    await gone(Number((await noted("start")).split(" ")[1]));
    expect((await ask("say back")).text).toBe("back");
  });

  it("fails the turn when it exits in the middle, and starts again for the next", async () => {
    const { ask, exits } = setUpAgent();
    const { text, error } = await ask("say half ;;stderr out of luck ;;crash");
    expect(text).toBe("half");
    expect(error).toMatchObject({
      kind: "upstream-unavailable",
      code: "agent_exited",
      message: expect.stringContaining("code 7"),
    });
    expect(exits).toMatchObject([{ stderr: "out of luck\n" }]);
    expect((await ask("kill")).error).toMatchObject({ message: expect.stringContaining("SIGKILL") });
    expect((await ask("say back")).text).toBe("back");
  });

  it.each(["--resume", "--load"])("brings its sessions back after a crash, if it can: %s", async (flag) => {
    const { ask, notes } = setUpAgent({ flags: [flag] });
    const { text } = await ask("session");
    await ask("crash");
    const again = await ask([user("session"), assistant(text), user("session")]);
    expect(again.text).toBe(text);
    expect(notes()).toContain(`${flag.slice(2)} ${text}`);
  });

  it("is told the conversation anew after a crash, if it cannot", async () => {
    const { ask } = setUpAgent();
    const { text } = await ask("session");
    await ask("crash");
    const again = await ask([user("session"), assistant(text), user("received")]);
    expect(again.text).toContain("conversation-so-far");
  });

  it("fails with its own reason", async () => {
    const { ask } = setUpAgent();
    expect((await ask("fail the disk is full")).error).toMatchObject({
      kind: "upstream-failed",
      message: 'The agent "test" failed: Internal error: the disk is full',
    });
    expect((await ask("login")).error).toMatchObject({ code: "agent_not_signed_in" });
  });

  it("is given up when it does not shake hands, and speaks when it speaks another version", async () => {
    expect((await setUpAgent({ flags: ["--mute"], limits: { startMs: 300 } }).ask("say hi")).error).toMatchObject({
      kind: "timeout",
    });
    expect((await setUpAgent({ flags: ["--old"] }).ask("say hi")).error).toMatchObject({ code: "agent_version" });
  });

  it("is left alone for a moment when it cannot even start", async () => {
    const { ask, exits } = setUpAgent({ flags: ["--exit-at-start"] });
    expect((await ask("say hi")).error).toMatchObject({ code: "agent_exited" });
    expect((await ask("say hi")).error).toMatchObject({ code: "agent_pauses", retryAfterMs: expect.any(Number) });
    expect(exits).toMatchObject([{ error: { code: "agent_exited" }, stderr: "no luck today\n" }]);
  });

  it("is named with the field when its command does not exist", async () => {
    const { ask } = setUpAgent({ settings: { command: "/no/such/agent" } });
    expect((await ask("say hi")).error).toMatchObject({
      kind: "config",
      message: expect.stringMatching(/"test": command: the program "\/no\/such\/agent" was not found/),
    });
  });

  it("is given up when it says nothing for too long", async () => {
    const { ask } = setUpAgent({ limits: { silentMs: 200, cancelMs: 50 } });
    expect((await ask("say well ;;ignore")).error).toMatchObject({ kind: "timeout", code: "agent_silent" });
  });

  it("gets neither our environment nor our files, and its arguments as they are (SEC-42)", async () => {
    const args = ["$(touch x)", ";", "--", "%PATH%"];
    const { ask } = setUpAgent({ flags: args });
    expect((await ask("environment")).text).toBe("HOME,NOTES,PATH");
    expect(JSON.parse((await ask("arguments")).text)).toEqual(args);
    expect((await ask("files")).text).toBe("refused -32601");
  });

  it("takes what it has started with it (SEC-44)", async () => {
    const { ask, noted, driver } = setUpAgent();
    await ask("fork");
    const child = Number((await noted("child")).split(" ")[1]);
    await driver.close();
    await gone(child);
  });

  it("takes what it has started with it even if it crashes (SEC-44)", async () => {
    const { ask, noted } = setUpAgent();
    await ask("fork ;;crash");
    await gone(Number((await noted("child")).split(" ")[1]));
  });
});

describe("stopping", () => {
  it("cancels the turn at the agent, and the conversation goes on in the same session", async () => {
    const { driver, noted, ask } = setUpAgent();
    const asked = "session ;;wait";
    const run = open(driver, agentTurn([user(asked)]));
    const batches = run[Symbol.asyncIterator]();
    const { value: events } = await batches.next();
    const text = events[0].text;
    await noted("waiting");
    run.cancel();
    await expect(batches.next()).rejects.toMatchObject({ kind: "canceled" });
    await noted(`cancel ${text}`);
    // Some clients keep what came, some do not.
    const again = await ask([user(asked), user("session")]);
    expect(again.text).toBe(text);
  });

  it("ends a process that does not stop, if nobody else needs it", async () => {
    const { driver, noted } = setUpAgent({ limits: { cancelMs: 50 } });
    const run = open(driver, agentTurn([user("ignore")]));
    const answer = read(run);
    await noted("ignoring");
    run.cancel();
    await answer;
    await gone(Number((await noted("start")).split(" ")[1]));
  });

  it("ends a process that has had nothing to do, and starts it again", async () => {
    const { ask, noted } = setUpAgent({ limits: { idleMs: 50 } });
    await ask("say one");
    await gone(Number((await noted("start")).split(" ")[1]));
    expect((await ask("say two")).text).toBe("two");
  });

  it("ends one that listens to nothing at all", async () => {
    const { ask, driver } = setUpAgent({ flags: ["--deaf"], limits: { startMs: 300 } });
    expect((await ask("say hi")).error).toMatchObject({ kind: "timeout" });
    await driver.close();
  });

  it("holds back an agent that says more than anybody reads", async () => {
    const { driver } = setUpAgent();
    const run = open(driver, agentTurn([user("flood 20000 ;;say end")]));
    const { text, error } = await read(run);
    expect(error).toBeUndefined();
    expect(text.endsWith("19999 end")).toBe(true);
  });
});
