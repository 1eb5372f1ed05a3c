import { expect, it } from "vitest";
import { RecentAnswer } from "../../../../src/faces/openai-responses/socket/recent-answer.ts";
import { RecentAnswers } from "../../../../src/faces/openai-responses/socket/recent-answers.ts";

const EMPTY = {
  put() {},
  find: () => undefined,
  conversation: () => undefined,
  findItem: () => undefined,
  delete: () => false,
};

/** Opens a connection that remembers one answer of this length. */
function open(all: RecentAnswers, principalId: string, length: number): RecentAnswer {
  const connection = new RecentAnswer(EMPTY, all);
  keep(connection, principalId, length);
  return connection;
}

const keep = (connection: RecentAnswer, principalId: string, length: number): void =>
  connection.keep(principalId, {
    id: "r",
    body: "",
    input: [{ id: "i", json: "x".repeat(length) }],
    output: [],
  } as unknown as Parameters<RecentAnswer["keep"]>[1]);

const remembers = (connection: RecentAnswer, principalId: string): boolean =>
  connection.conversation(principalId, "r") !== undefined;

it("the connections of all keys share one memory, and the oldest answers are forgotten (SEC-36)", () => {
  const all = new RecentAnswers(100);
  const connections = ["a", "b", "c", "d"].map((key) => ({ key, connection: open(all, key, 40) }));
  expect(connections.map(({ key, connection }) => remembers(connection, key))).toEqual([false, false, true, true]);
  expect(all.length).toBe(80);
});

it("one key uses half of it, and does not displace another key's answers", () => {
  const all = new RecentAnswers(100);
  const other = open(all, "other", 40);
  const own = [1, 2, 3].map(() => open(all, "own", 20));
  expect(own.map((connection) => remembers(connection, "own"))).toEqual([false, true, true]);
  expect(remembers(other, "other")).toBe(true);
});

it("a new answer replaces the one before, and a closed connection releases its memory", () => {
  const all = new RecentAnswers(100);
  const connection = open(all, "a", 40);
  keep(connection, "a", 30);
  expect(all.length).toBe(30);
  connection.forget();
  expect([all.length, remembers(connection, "a")]).toEqual([0, false]);
});
