import { describe, expect, it } from "vitest";
import type { RequestContext } from "../../../src/core/driver.ts";
import { type AgentLoopParts, runAgentLoop, type ToolRunner } from "../../../src/core/engine/agent-loop.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { type Message, type ToolCallPart, type ToolMessage, type Turn, textOf } from "../../../src/core/turn.ts";
import { aTurn, done, text } from "../support/turns.ts";

type Answer = (turn: Turn, context: RequestContext) => AsyncIterable<readonly TurnEvent[]>;

const call = (id: string): TurnEvent & ToolCallPart => ({ type: "tool-call", id, name: "look", args: {} });
const calls = (...ids: readonly string[]) => [...ids.map(call), done("tool-calls")];
const result = (callId: string, said = "seen", isError = false): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text: said }],
  isError,
});

/** An engine that gives one list of batches a round, again and again the last one. An Error among them is thrown. */
const scripted = (...rounds: (readonly (readonly TurnEvent[] | Error)[])[]): Answer => {
  let round = 0;
  return async function* () {
    for (const batch of rounds[Math.min(round++, rounds.length - 1)] ?? []) {
      if (batch instanceof Error) throw batch;
      yield batch;
    }
  };
};

/** Starts a loop; it is stopped by `abort`. */
function setUp(answer: Answer, over: Partial<AgentLoopParts> = {}) {
  const messages: Message[] = [{ role: "user", content: [{ type: "text", text: "go" }] }];
  const [turns, contexts, shown, ran]: [Turn[], RequestContext[], TurnEvent[], string[]] = [[], [], [], []];
  const abort = new AbortController();
  const engine = {
    run: (turn: Turn, context: RequestContext) => {
      turns.push(turn);
      contexts.push(context);
      return answer(turn, context);
    },
  };
  const tools: ToolRunner = {
    run: async ({ id }) => {
      ran.push(id);
      return result(id);
    },
  };
  const loop = () =>
    runAgentLoop(messages, {
      engine,
      tools,
      turnFor: (said) => aTurn({ messages: said }),
      show: async (events) => void shown.push(...events),
      signal: abort.signal,
      ...over,
    });
  return { loop, messages, turns, contexts, shown, ran, abort };
}

const roles = (messages: readonly Message[]) => messages.map(({ role }) => role);

describe("the agent loop", () => {
  it("asks, runs the tools one after the other, and asks again until there are no calls", async () => {
    const { loop, messages, turns, contexts, shown, ran } = setUp(
      scripted([[text("let me ")], [text("see"), ...calls("a", "b")]], [[text("it is so"), done()]]),
    );
    expect(await loop()).toBe("stop");
    expect(ran).toEqual(["a", "b"]);
    expect(messages.slice(1)).toEqual([
      { role: "assistant", content: [{ type: "text", text: "let me see" }, call("a"), call("b")] },
      result("a"),
      result("b"),
      { role: "assistant", content: [{ type: "text", text: "it is so" }] },
    ]);
    expect(turns.map(({ messages: asked }) => asked.length)).toEqual([1, 4]);
    expect(new Set(contexts.map(({ requestId }) => requestId)).size).toBe(2);
    expect(shown.filter(({ type }) => type === "text").map((event) => textOf([event]))).toEqual([
      "let me ",
      "see",
      "it is so",
    ]);
  });

  it.each(["stop", "length", "content-filter"] as const)("ends as the model does: %s", async (reason) => {
    expect(await setUp(scripted([[text("a"), done(reason)]])).loop()).toBe(reason);
  });

  it("has an end, whatever the model does", async () => {
    const { loop, ran } = setUp(scripted([calls("a")]), { maxRounds: 3 });
    expect(await loop()).toBe("max-rounds");
    expect(ran).toEqual(["a", "a", "a"]);
  });

  it("gives failures of tools to the model", async () => {
    const failing: ToolRunner = { run: async ({ id }) => result(id, "The user did not allow this.", true) };
    const { loop, turns } = setUp(scripted([calls("a")], [[text("well"), done()]]), { tools: failing });
    expect(await loop()).toBe("stop");
    expect(turns[1]?.messages.at(-1)).toEqual(result("a", "The user did not allow this.", true));
  });

  it("takes another turn each round, so that the model can be changed", async () => {
    let model = "first";
    const { loop, turns } = setUp(scripted([calls("a")], [[done()]]), {
      turnFor: (messages) => aTurn({ messages, model: { id: model, effort: undefined } }),
      tools: {
        run: async ({ id }) => {
          model = "second";
          return result(id);
        },
      },
    });
    await loop();
    expect(turns.map(({ model: { id } }) => id)).toEqual(["first", "second"]);
  });

  it("passes questions of hub tools on", async () => {
    const elicit = async () => ({ action: "decline" }) as const;
    const { loop, contexts } = setUp(scripted([[done()]]), { elicit });
    await loop();
    expect(contexts[0]?.elicit).toBe(elicit);
  });

  it("reads on only when the events before are shown", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const { loop } = setUp(
      async function* () {
        yield [text("a")];
        order.push("read on");
        yield [done()];
      },
      {
        show: async () => {
          await promise;
          order.push("shown");
        },
      },
    );
    const ended = loop();
    await new Promise((later) => setImmediate(later));
    expect(order).toEqual([]);
    resolve();
    await ended;
    expect(order).toEqual(["shown", "read on", "shown"]);
  });
});

describe("an agent loop that is cancelled", () => {
  it("while the model answers keeps what was said, without calls that were never run", async () => {
    const { loop, messages, abort } = setUp(async function* (_, { signal }) {
      yield [text("I will"), call("a")];
      abort.abort();
      throw signal.reason;
    });
    expect(await loop()).toBe("cancelled");
    expect(messages.at(-1)).toEqual({ role: "assistant", content: [{ type: "text", text: "I will" }] });
  });

  it("while a tool runs has a result for each call, and runs no other", async () => {
    const ran: string[] = [];
    const { loop, messages, turns, abort } = setUp(scripted([calls("a", "b", "c")]), {
      tools: {
        run: async ({ id }) => {
          ran.push(id);
          abort.abort();
          return result(id);
        },
      },
    });
    expect(await loop()).toBe("cancelled");
    expect(ran).toEqual(["a"]);
    expect(turns).toHaveLength(1);
    expect(messages.slice(2)).toEqual([result("a"), result("b", "Cancelled.", true), result("c", "Cancelled.", true)]);
  });
});

describe("an agent loop that fails", () => {
  it("throws, and keeps what was said before", async () => {
    const { loop, messages } = setUp(scripted([calls("a")], [[text("half"), call("b")], new Error("broken")]));
    await expect(loop()).rejects.toThrow("broken");
    expect(roles(messages)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(messages.at(-1)).toEqual({ role: "assistant", content: [{ type: "text", text: "half" }] });
  });

  it("adds nothing if nothing was said", async () => {
    const { loop, messages } = setUp(scripted([new Error("broken")]));
    await expect(loop()).rejects.toThrow("broken");
    expect(roles(messages)).toEqual(["user"]);
  });
});
