import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../../src/core/events.ts";
import { type Turn, textOf } from "../../../src/core/turn.ts";
import { createServeRun } from "../../../src/faces/cursor/run/serve-run.ts";
import { encodeAppend } from "../../../src/wire/agent/bidi-append.ts";
import { encodeClientMessage } from "../../../src/wire/agent/messages.ts";
import type { ClientMessage, RunOptions } from "../../sim/support/backend-client.ts";
import { CALLS, call, engineWith, STOP, say } from "./support/models.ts";
import { SIGNED_IN, setUpSim } from "./support/stage.ts";

const OWN = { requestedModel: { modelId: "excursor/local" } };

interface OwnRequest {
  readonly runId?: string;
  readonly requestedModel?: { readonly modelId: string };
}

/** The face with real runs, and a client over the wire with one tool that counts its calls. */
async function setUp(
  transport: "h2" | "h1",
  answer: (turn: Turn, nth: number) => readonly TurnEvent[],
  token = SIGNED_IN,
) {
  const { engine, turns } = engineWith(answer);
  const serve = createServeRun({ engine });
  const requestIds: string[] = [];
  const stage = await setUpSim({
    serveRun(peer) {
      requestIds.push(peer.requestId);
      serve(peer, "m");
    },
  });
  const made: string[] = [];
  const client = stage.connect(transport, {
    token,
    tools: {
      count: ({ at }) => {
        made.push(String(at));
        return `counted ${at}`;
      },
    },
  });
  const ask = (text: string, options: RunOptions = {}, request: OwnRequest = {}) =>
    client.say(text, { ...options, request: { ...OWN, ...request } });
  return { ...stage, client, ask, made, turns, requestIds };
}

const count = (nth: number): readonly TurnEvent[] =>
  nth === 0 ? [call("c1", "count", { at: 1 }), CALLS] : [say("done"), STOP];

describe.each(["h2", "h1"] as const)("bad input of a client over %s", (transport) => {
  it("names a model that is not there", async () => {
    const { ask } = await setUp(transport, () => [STOP]);
    const { error } = await ask("hi", {}, { requestedModel: { modelId: "excursor/none" } });
    expect(error?.kind).toBe("model-not-found");
    expect(error?.message).toContain('There is no model "excursor/none" here. `excursor models` lists them');
  });

  it("refuses a state whose blobs the client does not have, and asks no model", async () => {
    const { ask, client, turns } = await setUp(transport, () => [say("hi"), STOP]);
    await ask("first");
    client.blobs.clear();
    const { error } = await ask("second", {}, { runId: "r2" });
    expect(error?.kind).toBe("invalid-request");
    expect(error?.message).toMatch(/^Blob not found: .* Start a new conversation\.$/);
    expect(turns).toHaveLength(1);
  });

  it("tells the model that a tool is not offered, and calls none", async () => {
    const { ask, made, turns } = await setUp(transport, (_turn, nth) =>
      nth === 0 ? [call("c1", "launch", { at: 1 }), CALLS] : [say("done"), STOP],
    );
    const { text, error } = await ask("go");
    expect([text, error, made]).toEqual(["done", undefined, []]);
    expect(textOf(turns[1]?.messages.at(-1)?.content ?? [])).toContain('There is no tool "launch"');
  });

  const STRAY: Readonly<Record<string, ClientMessage>> = {
    "an exec result without a call": {
      case: "execClientMessage",
      value: { id: 77, message: { case: "mcpResult", value: {} } },
    },
    "a blob that nobody asked for": {
      case: "kvClientMessage",
      value: { id: 99, message: { case: "getBlobResult", value: {} } },
    },
    "a second request": { case: "runRequest", value: {} },
  };

  it.each(Object.entries(STRAY))("refuses %s", async (_, stray) => {
    const { ask, made } = await setUp(transport, (_turn, nth) => count(nth));
    let isSent = false;
    const { error, text } = await ask("go", {
      intercept(message, send) {
        if (message.case !== "execServerMessage" || message.value.message.case !== "mcpArgs" || isSent) return false;
        isSent = true;
        send(stray);
        return true;
      },
    });
    expect([text, error?.kind, made]).toEqual(["", "invalid-request", []]);
    expect(error?.message).toContain("Start the run again.");
  });

  it("takes the second of two equal results for a violation, and has made the call once", async () => {
    const { ask, made } = await setUp(transport, (_turn, nth) => count(nth));
    const { error } = await ask("go", {
      intercept(message, send) {
        if (message.case !== "execServerMessage" || message.value.message.case !== "mcpArgs") return false;
        const { id, execId } = message.value;
        made.push("by hand");
        const result = { case: "mcpResult" as const, value: { result: { case: "success" as const, value: {} } } };
        for (let n = 0; n < 2; n++) send({ case: "execClientMessage", value: { id, execId, message: result } });
        return true;
      },
    });
    expect([error?.kind, made]).toEqual(["invalid-request", ["by hand"]]);
  });

  it("ignores frames after the end", async () => {
    const { ask, made } = await setUp(transport, (_turn, nth) => count(nth));
    let send: (message: ClientMessage) => void = () => {};
    const { text, error, messages } = await ask("go", {
      onOpen: (given) => {
        send = given;
      },
      onMessage(message) {
        if (message.case !== "interactionUpdate" || message.value.message.case !== "turnEnded") return;
        for (const stray of Object.values(STRAY)) send(stray);
      },
    });
    expect([text, error, made]).toEqual(["done", undefined, ["1"]]);
    expect(messages.at(-1)?.message.case).toBe("conversationCheckpointUpdate");
  });

  it("lets no other account in", async () => {
    const { ask, turns } = await setUp(transport, () => [say("hi"), STOP], "somebody-else");
    const { error } = await ask("hi");
    expect(error?.kind).toBe("forbidden");
    expect(error?.message).toContain("is not for this Cursor account. Run `excursor login`");
    expect(turns).toEqual([]);
  });

  it("ends the run of a key that is revoked in the middle, and calls nothing more", async () => {
    const { ask, keys, made, turns } = await setUp(
      transport,
      (_turn, nth) => [call(`c${nth}`, "count", { at: nth }), CALLS],
      "exc_guest",
    );
    const { error } = await ask("go", {
      intercept(message) {
        if (message.case !== "execServerMessage" || message.value.message.case !== "mcpArgs") return false;
        // The tool takes its time.
        if (made.length === 1) keys.delete("exc_guest");
        return made.length === 1;
      },
    });
    expect(error?.kind).toBe("unauthenticated");
    expect(error?.message).toContain("Sign in again");
    expect([made, turns.length]).toEqual([["0"], 2]);
  });
});

it("answers appends that come after the end of their run with 200", async () => {
  const { ask, url, requestIds } = await setUp("h1", (_turn, nth) => count(nth));
  const { text, error } = await ask("go");
  expect([text, error]).toEqual(["done", undefined]);
  const [requestId = ""] = requestIds;
  const payload = encodeClientMessage({ case: "clientHeartbeat", value: {} });
  for (const seqno of [50n, 51n]) {
    const { status } = await fetch(`${url}/aiserver.v1.BidiService/BidiAppend`, {
      method: "POST",
      headers: {
        "content-type": "application/proto",
        "x-request-id": requestId,
        authorization: `Bearer ${SIGNED_IN}`,
      },
      body: Buffer.from(encodeAppend({ requestId, seqno, payload })),
    });
    expect(status).toBe(200);
  }
});
