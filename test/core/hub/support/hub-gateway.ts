import type { Run } from "../../../../src/core/driver.ts";
import type { TurnEvent } from "../../../../src/core/events.ts";
import type { HubAnswers } from "../../../../src/core/hub/hub-answers.ts";
import { HubMemory } from "../../../../src/core/hub/hub-memory.ts";
import { HubRun } from "../../../../src/core/hub/hub-run.ts";
import type { HubResult, ToolHub } from "../../../../src/core/hub/tool-hub.ts";
import { type Message, type ToolMessage, type Turn, textOf } from "../../../../src/core/turn.ts";
import { aTurn, done, text } from "../../support/turns.ts";

type Leg = readonly TurnEvent[];

export const call = (id: string, name: string, args = {}): TurnEvent => ({ type: "tool-call", id, name, args });
export const tool = (name: string) => ({ name, description: "", schema: { type: "object" } });
export const result = (callId: string, value: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text: value }],
  isError: false,
});

/** A name as runs give them outside. */
const named = (session: string, n = 0) => `sess_${session.padEnd(22, "x")}__call_${n}`;

export const user = (value: string): Message => ({ role: "user", content: [{ type: "text", text: value }] });

export const said = (value: string): HubResult => ({ content: [{ type: "text", text: value }], isError: false });

/** One gateway: its runs share the memory, and the count of calls. `make` decides when a call of the hub's ends. */
export function openHubGateway(
  store: HubAnswers,
  make: (signal: AbortSignal) => Promise<HubResult> = async () => said("did it"),
) {
  const memory = new HubMemory(store);
  let calls = 0;
  const hub: ToolHub = {
    open: async () => ({
      tools: [tool("hub__a")],
      placeOf: () => undefined,
      call: (_name, _args, { signal }) => {
        calls++;
        return make(signal);
      },
    }),
  };
  const ask = (
    messages: readonly Message[],
    legs: readonly Leg[],
    { session = "one", over = {} as Partial<Turn> } = {},
  ) => {
    const told: (readonly Message[])[] = [];
    let at = 0;
    const open = ({ messages: given }: Turn): Run => {
      told.push(given);
      return {
        async *[Symbol.asyncIterator]() {
          const leg = legs[at++];
          if (leg) yield leg;
        },
        submitResults: () => true,
        cancel: () => {},
      };
    };
    const turn = aTurn({ tools: [tool("look")], messages, ...over });
    const names = new Map<string, string>();
    const nameOf = (id: string) => {
      const name = names.get(id) ?? named(session, names.size);
      names.set(id, name);
      return name;
    };
    const run = new HubRun({ hub, memory, turn, context: { requestId: "r" }, open, nameOf, maxSteps: 10 });
    return { run, told };
  };
  return { ask, calls: () => calls };
}

/** What the client sends after the calls of an answer. */
export const followUp = (messages: readonly Message[], before: string, session = "one", n = 0): Message[] => [
  ...messages,
  {
    role: "assistant",
    content: [
      ...(before === "" ? [] : [{ type: "text", text: before } as const]),
      { type: "tool-call", id: named(session, n), name: "look", args: {} },
    ],
  },
  result(named(session, n), "seen"),
];

export const QUESTION: readonly Message[] = [user("go")];
export const MIXED: Leg = [text("a"), call("h", "hub__a"), call("c0", "look"), done("tool-calls")];
export const HUBS: Leg = [text("b"), call("h2", "hub__a"), done("tool-calls")];
export const LAST: Leg = [text("c"), done()];

export const resultsIn = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === "tool" ? [textOf(message.content)] : []));
