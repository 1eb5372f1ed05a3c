import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadCassette } from "../../src/replay/cassette.ts";
import type { BackendClient, RunRecord } from "../sim/support/backend-client.ts";
import { recordCassette } from "../sim/support/record-cassette.ts";
import { setUp, TRANSPORTS } from "../sim/support/transports.ts";

/** A recorded bug: what the client did, and what it must see. */
interface Case {
  readonly name: string;
  readonly act: (client: BackendClient) => Promise<RunRecord>;
  readonly expect: (run: RunRecord) => void;
}

const tools = { look: () => "a file" };

const CASES: Readonly<Record<string, Case>> = {
  "text-after-tool": {
    name: "a conversation with text after a tool call continues from its checkpoint",
    act: async (client) => {
      await client.say("@sim call look {} ;; say after");
      return client.say("@sim say next");
    },
    expect: ({ text, error }) => {
      expect(error).toBeUndefined();
      expect(text).toBe("next");
    },
  },
  "last-checkpoint": {
    name: "the last checkpoint and the end frame follow turn_ended, so no stream is reset",
    act: (client) => client.say("@sim say done"),
    expect: ({ messages, error, end }) => {
      expect(error).toBeUndefined();
      expect(end).toBeDefined();
      expect(messages.some(({ message }) => message.case === "conversationCheckpointUpdate")).toBe(true);
    },
  },
  "rejected-token": {
    name: "a bare permission_denied is an error, not an empty answer",
    act: (client) => client.say("@sim fail permission_denied"),
    expect: ({ text, error }) => {
      expect(text).toBe("");
      expect(error).toBeDefined();
    },
  },
  "same-tool-twice": {
    name: "two calls of one tool are kept apart",
    act: (client) => client.say('@sim call look {"n":1} ;; call look {"n":2} ;; say both'),
    expect: ({ text, execs }) => {
      expect(text).toBe("both");
      const calls = execs.filter(({ message }) => message.case === "mcpArgs");
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    },
  },
};

const fileOf = (name: string): string => fileURLToPath(new URL(`./${name}.capture`, import.meta.url));

/** `RECORD_CASSETTES=1` records them again from the simulator. */
if (process.env["RECORD_CASSETTES"] === "1") {
  test.each(Object.entries(CASES))("records %s", async (name, { act }) => {
    const { sim } = await setUp("h2");
    await rm(fileOf(name), { force: true });
    await recordCassette({ url: sim.url, transport: "h2", tools }, act, fileOf(name));
  });
}

for (const [name, { name: claim, act, expect: check }] of Object.entries(CASES)) {
  test.each(TRANSPORTS)(`${claim}, over %s`, async (transport) => {
    const left: string[] = [];
    const cassette = await loadCassette(fileOf(name));
    const { client } = await setUp(transport, { tools }, { cassette, onLeave: (text) => left.push(text) });
    const run = await act(client);
    expect(left).toEqual([]);
    check(run);
  });
}
