import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { createEditorSessionStore } from "../../src/state/editor-session-store.ts";
import { createHubAnswerStore } from "../../src/state/hub-answer-store.ts";
import { createResponseStore } from "../../src/state/response-store.ts";
import { createSentCallStore } from "../../src/state/sent-call-store.ts";
import { createThoughtStore } from "../../src/state/thought-store.ts";
import { checkpoint } from "../state/support.ts";
import { describeStore, type StoreFixture } from "./store.ts";

const STORES: Readonly<Record<string, StoreFixture>> = {
  checkpoints: (database, limits) => {
    const store = createCheckpointStore(database, limits);
    return {
      put: (principal, id, size) => store.put(principal, id, checkpoint(id, "s", "x".repeat(size))),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  "kept answers": (database, limits) => {
    const store = createResponseStore(database, limits);
    return {
      put: (principal, id, size) => {
        store.delete(principal, id);
        store.put(principal, { id, previousId: undefined, body: "x".repeat(size), input: [], output: [] });
      },
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  thoughts: (database, limits) => {
    const store = createThoughtStore(database, limits);
    return {
      put: (principal, id, size) => store.keep(principal, id, { text: "x".repeat(size), signature: undefined }),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  "sent calls": (database, limits) => {
    const store = createSentCallStore(database, limits);
    return {
      put: (principal, id, size) =>
        store.keep(principal, id, { sent: "x".repeat(Math.max(0, size - id.length)), reduced: "", returned: "" }),
      has: (principal, id) => store.find(principal, [id]).has(id),
    };
  },
  "conversations of editors": (database, limits) => {
    const store = createEditorSessionStore(database, limits);
    return {
      put: (principal, id, size) =>
        store.keep(principal, { id, folder: "/", model: "m", title: "t", messages: "x".repeat(size) }),
      has: (principal, id) => store.find(principal, id) !== undefined,
    };
  },
  "answers of the hub": (database, limits) => {
    const store = createHubAnswerStore(database, limits);
    const place = (principalId: string, id: string) => ({ principalId, id, askedKey: `asked-${id}` });
    return {
      put: (principal, id, size) =>
        store.putEnd(place(principal, id), { text: "x".repeat(size), reason: "stop" }, `history-${id}`),
      has: (principal, id) => store.findAsked(principal, `asked-${id}`).length > 0,
    };
  },
};

/** Stores without rows of principals: facts of the gateway, and the record of requests (test/usage). */
const OTHERS = ["key-value-store.ts"];

it("covers every store", () => {
  const files = readdirSync(new URL("../../src/state", import.meta.url)).filter((name) => name.endsWith("-store.ts"));
  expect(files.length - OTHERS.length).toBe(Object.keys(STORES).length);
  expect(files).toEqual(expect.arrayContaining(OTHERS));
});

for (const [name, create] of Object.entries(STORES)) describeStore(name, create);
