import { type Plan, promptOf, textOf } from "../peers/plan.ts";
import { TOOL_NAME } from "../peers/tool-call.ts";
import { type Address, Connection, StreamedAnswer } from "./load.ts";

/** A conversation whose run waits for a tool result. */
export class ToolLoop {
  readonly #connection: Connection;
  readonly #messages: object[];
  #callId: string;
  #content = "";

  private constructor(connection: Connection, messages: object[], callId: string) {
    this.#connection = connection;
    this.#messages = messages;
    this.#callId = callId;
  }

  /** Sends a request, and receives a tool call. */
  static async open(connection: Connection, id: number): Promise<ToolLoop> {
    const plan: Plan = { id, tokens: 0, isCall: true };
    const answer = new StreamedAnswer();
    await connection.ask(plan, answer);
    return new ToolLoop(connection, [{ role: "user", content: promptOf(plan) }], callOf(answer));
  }

  /**
   * Sends the next plan as the result, over this connection or another one. Returns the time to its first token; 0 if the plan
   * has none.
   */
  async goOn(plan: Plan, connection = this.#connection): Promise<number> {
    const call = { id: this.#callId, type: "function", function: { name: TOOL_NAME, arguments: "{}" } };
    this.#messages.push(
      { role: "assistant", content: this.#content, tool_calls: [call] },
      { role: "tool", tool_call_id: this.#callId, content: promptOf(plan) },
    );
    const answer = new StreamedAnswer();
    await connection.send(this.#messages, plan, answer);
    if (answer.lost + answer.repeated > 0) throw new Error("the run did not go on where it was");
    this.#content = textOf(plan);
    if (plan.isCall) this.#callId = callOf(answer);
    return answer.firstTokenUs;
  }
}

function callOf({ callId }: StreamedAnswer): string {
  if (callId === undefined) throw new Error("the answer has no tool call");
  return callId;
}

/** Opens many loops over a few connections. The caller closes these. */
export async function openLoops(
  address: Address,
  count: number,
): Promise<{ readonly loops: readonly ToolLoop[]; readonly connections: readonly Connection[] }> {
  const connections = Array.from({ length: Math.min(CONNECTIONS, count) }, () => new Connection(address));
  const loops = await Promise.all(
    connections.map(async (connection, first) => {
      const own: ToolLoop[] = [];
      for (let id = first; id < count; id += connections.length) own.push(await ToolLoop.open(connection, id));
      return own;
    }),
  );
  return { loops: loops.flat(), connections };
}

const CONNECTIONS = 20;
