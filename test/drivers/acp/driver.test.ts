import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { createAcpDriver } from "../../../src/drivers/acp/driver.ts";
import { createWatchdog } from "../../../src/process/watchdog.ts";
import { assistant, aTurn, open, read, user } from "../cursor/support/driver-stage.ts";
import { agentTurn, gone, setUpAgent, thinkingIn } from "./support/agent-stage.ts";

describe("an agent as a model", () => {
  it("shows messages and thoughts as text and thinking, and tools as lines of thinking", async () => {
    const { ask } = setUpAgent();
    const { events, text, error } = await ask(
      "think hm ;;tool Read notes.txt ;;say Found it. ;;failing npm test ;;say Sorry.",
    );
    expect(error).toBeUndefined();
    expect(text).toBe("Found it.\n\nSorry.");
    expect(thinkingIn(events)).toBe("hm[Read notes.txt]\n[npm test]\n[npm test: failed]\n");
    expect(events.filter(({ type }) => type === "thinking-done")).toHaveLength(2);
    expect(events.at(-1)).toEqual({ type: "done", reason: "stop" });
  });

  it("shows tools and plans as they are to whoever can show them", async () => {
    const { ask } = setUpAgent();
    const { events } = await ask("plan Look ;;tool Read notes.txt", { showsActivity: true });
    const activities = events.flatMap((event) => (event.type === "activity" ? [event.activity] : []));
    expect(activities).toMatchObject([
      { type: "plan", entries: [{ content: "Look", priority: "high" }] },
      { type: "tool", title: "Read notes.txt", status: "pending", detail: { kind: "read" } },
      { type: "tool", title: "Read notes.txt", status: "completed", detail: { kind: "read", status: "completed" } },
    ]);
    expect(thinkingIn(events)).toBe("");
  });

  it("ends for the reason that the agent gives", async () => {
    const { ask } = setUpAgent();
    expect((await ask("stop max_tokens")).events.at(-1)).toEqual({ type: "done", reason: "length" });
    expect((await ask("stop refusal")).events.at(-1)).toEqual({ type: "done", reason: "content-filter" });
  });

  it("goes on in the same session, told only what is new", async () => {
    const { ask, notes } = setUpAgent();
    const first = await ask("session");
    const history = [user("session"), assistant(first.text), user("received")];
    expect(JSON.parse((await ask(history)).text)).toEqual([{ type: "text", text: "received" }]);
    expect(notes().filter((line) => line.startsWith("new"))).toHaveLength(1);
  });

  it("tells a new session what went before, when the history was edited", async () => {
    const { ask, notes } = setUpAgent();
    await ask("say blue");
    const { text } = await ask([user("say blue"), assistant("green"), user("received")], { system: "Be brief." });
    expect(JSON.parse(text)).toEqual([
      { type: "text", text: "<instructions>\nBe brief.\n</instructions>" },
      { type: "text", text: "<conversation-so-far>\nUser: say blue\n\nAssistant: green\n</conversation-so-far>" },
      { type: "text", text: "received" },
    ]);
    expect(notes().filter((line) => line.startsWith("new"))).toHaveLength(2);
  });

  it("keeps the sessions of two principals apart", async () => {
    const { ask } = setUpAgent();
    const { text } = await ask("session");
    const history = [user("session"), assistant(text), user("session")];
    const other = await ask(history, { principal: { id: "p2", token: undefined } });
    expect(other.text).not.toBe(text);
    expect((await ask(history)).text).toBe(text);
  });

  it("lets the agent forget sessions that are one too many", async () => {
    const { ask, noted } = setUpAgent({ limits: { sessions: 1 } });
    const { text } = await ask("session");
    await ask("say another");
    expect(await noted("close")).toBe(`close ${text}`);
  });

  it("answers several conversations at once in one process", async () => {
    const { ask } = setUpAgent();
    const answers = await Promise.all([ask("pid"), ask("pid"), ask("pid")]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it("takes a model of the agent's own by name, and names those that it has", async () => {
    const { ask } = setUpAgent();
    expect((await ask("model", { model: { id: "acp:test/large", effort: undefined } })).text).toBe("large");
    const { error } = await ask("model", { model: { id: "acp:test/huge", effort: undefined } });
    expect(error).toMatchObject({ kind: "model-not-found", message: expect.stringContaining("small, large") });
  });

  it("brings images and files to an agent that takes them", async () => {
    const content = [
      { type: "image" as const, mediaType: "image/png", data: Uint8Array.of(1, 2, 3) },
      { type: "file" as const, name: "a b.txt", text: "hello" },
      { type: "text" as const, text: "received" },
    ];
    const { ask } = setUpAgent({ flags: ["--images"] });
    expect(JSON.parse((await ask([{ role: "user", content }])).text)).toMatchObject([
      { type: "image", data: "AQID", mimeType: "image/png" },
      { type: "resource", resource: { uri: "attachment:///a%20b.txt", text: "hello" } },
      { type: "text" },
    ]);
    const { error } = await setUpAgent().ask([{ role: "user", content }]);
    expect(error).toMatchObject({ kind: "invalid-request", field: "messages" });
  });

  it("says in a notice that tools of the request are not for an agent", async () => {
    const { ask } = setUpAgent();
    const { events } = await ask("say hi", { tools: [{ name: "look", description: "", schema: { type: "object" } }] });
    expect(events[0]).toMatchObject({ type: "notice", code: "agent_has_own_tools" });
  });

  it("is listed; one that cannot be used is not, and its error names the agent and the field", async () => {
    const broken = new ExcursorError("config", 'The agent "broken": command: expected a text.');
    const driver = createAcpDriver({
      agents: new Map([["broken", broken]]),
      isAllowed: () => true,
      watchdog: createWatchdog(),
      environment: {},
    });
    const signal = new AbortController().signal;
    expect(await driver.listModels({ id: "p1", token: undefined }, signal)).toEqual([]);
    const ask = (id: string) => read(open(driver, aTurn([user("hi")], { model: { id, effort: undefined } })));
    expect((await ask("acp:broken")).error).toBe(broken);
    expect((await ask("acp:nobody")).error).toMatchObject({ kind: "model-not-found", field: "model" });
  });
});

it("an agent is listed with images once it has said that it takes them", async () => {
  const takesImages = async (flags: readonly string[]) => {
    const { driver, ask } = setUpAgent({ flags });
    const listed = async () =>
      (await driver.listModels({ id: "p1", token: undefined }, new AbortController().signal))[0]?.supportsImages;
    const before = await listed();
    await ask("say hi");
    return [before, await listed()];
  };
  expect([await takesImages(["--images"]), await takesImages([])]).toEqual([
    [false, true],
    [false, false],
  ]);
});

describe("whom agents work for", () => {
  it("is decided before anything is started, and nobody else sees them", async () => {
    const { ask, notes, driver } = setUpAgent();
    const stranger = { id: "stranger", token: undefined };
    expect((await ask("say hi", { principal: stranger })).error).toMatchObject({ kind: "forbidden" });
    expect(await driver.listModels(stranger, new AbortController().signal)).toEqual([]);
    expect(await driver.listModels({ id: "p1", token: undefined }, new AbortController().signal)).toMatchObject([
      { id: "acp:test", displayName: "Test" },
    ]);
    expect(notes()).toEqual([]);
  });
});

describe("permission requests", () => {
  const chosen = async (kind: string, permissions: { allow: string[]; others: "ask" | "deny" }) =>
    (await setUpAgent({ settings: { permissions } }).ask(`permission ${kind}`)).text;

  it("are answered by the allow list, once, and else denied where nobody can be asked", async () => {
    expect(await chosen("read", { allow: ["read"], others: "deny" })).toBe("yes");
    expect(await chosen("execute", { allow: ["read"], others: "deny" })).toBe("no");
    expect(await chosen("execute", { allow: ["*"], others: "deny" })).toBe("yes");
    expect(await chosen("execute", { allow: [], others: "ask" })).toBe("no");
  });

  const held = { asking: { mode: "ask", looser: ["yolo"] } };

  it("are made by an agent that its user has set to make none: its session is put into the mode in which it asks", async () => {
    const stage = setUpAgent({ flags: ["--mode=yolo", "--resume"], settings: held });
    const { text: session } = await stage.ask("session");
    expect(stage.notes()).toContain(`mode ${session} ask`);
    await stage.ask("crash");
    await stage.ask([user("session"), assistant(session), user("session")]);
    expect(stage.notes().filter((line) => line === `mode ${session} ask`)).toHaveLength(2);
  });

  it.each([
    ["plan", held],
    ["yolo", {}],
  ])("are left to an agent in a stricter mode, and to one that we do not know: %s", async (mode, settings) => {
    const stage = setUpAgent({ flags: [`--mode=${mode}`], settings });
    await stage.ask("session");
    expect(stage.notes().filter((line) => line.startsWith("mode"))).toEqual([]);
  });

  const asking = (stage: ReturnType<typeof setUpAgent>, answer: string | undefined) => {
    const run = open(stage.driver, agentTurn([user("permission edit")], { showsActivity: true }));
    return collect(run, (event) => {
      if (event.type === "activity" && event.activity.type === "question") event.activity.answer(answer);
    });
  };

  it("reach whoever can be asked, and only an option that was offered counts", async () => {
    expect(await asking(setUpAgent(), "always")).toBe("always");
    expect(await asking(setUpAgent(), undefined)).toBe("no");
    expect(await asking(setUpAgent(), "whatever")).toBe("no");
  });

  it("are denied when nobody answers in time", async () => {
    const stage = setUpAgent({ limits: { answerMs: 50 } });
    expect((await stage.ask("permission edit", { showsActivity: true })).text).toBe("no");
  });

  it("are answered as cancelled when the turn is", async () => {
    const stage = setUpAgent();
    const run = open(stage.driver, agentTurn([user("permission edit")], { showsActivity: true }));
    await collect(run, (event) => {
      if (event.type === "activity") run.cancel();
    });
    expect(await stage.noted("permission")).toBe('permission {"outcome":"cancelled"}');
  });
});

describe("an agent that ignores a cancellation", () => {
  const cancelledIn = async (others: number) => {
    const { driver, ask, noted, notes } = setUpAgent({ limits: { cancelMs: 20 } });
    const first = await ask("pid");
    const waiting = Array.from({ length: others }, () => open(driver, agentTurn([user("wait")])));
    const ends = waiting.map((run) => collect(run, () => {}));
    await expect.poll(() => notes().filter((line) => line === "waiting")).toHaveLength(others);
    const run = open(driver, agentTurn([user("ignore")]));
    const end = collect(run, () => {});
    await noted("ignoring");
    run.cancel();
    await end;
    return { driver, ask, pid: Number(first.text), waiting, ends };
  };

  it("is ended, and the next turn gets another process", async () => {
    const { ask, pid } = await cancelledIn(0);
    await gone(pid);
    expect(Number((await ask("pid")).text)).not.toBe(pid);
  });

  it("is left alone while another turn uses it", async () => {
    const { driver, ask, pid, waiting, ends } = await cancelledIn(1);
    await expect.poll(() => driver.listAgents?.().map(({ turns }) => turns)).toEqual([1]);
    expect(Number((await ask("pid")).text)).toBe(pid);
    for (const run of waiting) run.cancel();
    await Promise.all(ends);
  });
});

async function collect(run: ReturnType<typeof open>, see: (event: TurnEvent) => void): Promise<string> {
  let text = "";
  try {
    for await (const batch of run) {
      for (const event of batch) {
        if (event.type === "text") text += event.text;
        see(event);
      }
    }
  } catch {
    return "failed";
  }
  return text;
}
