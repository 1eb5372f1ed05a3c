import { expect, it } from "vitest";
import { Roster } from "../../src/server/roster.ts";

it("has who joined and has not left, in whatever order they go", () => {
  const roster = new Roster<{ readonly name: string }>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => roster.join({ name })) as [Leave, Leave, Leave, Leave];
  const names = () => Array.from(roster, ({ name }) => name).sort();
  b();
  expect(names()).toEqual(["a", "c", "d"]);
  d();
  expect(names()).toEqual(["a", "c"]);
  const e = roster.join({ name: "e" });
  a();
  c();
  expect(names()).toEqual(["e"]);
  e();
  expect(roster.size).toBe(0);
});

it("may be left while it is looked through", () => {
  const roster = new Roster<{ leave?: Leave }>();
  for (let count = 0; count < 5; count++) {
    const member: { leave?: Leave } = {};
    member.leave = roster.join(member);
  }
  let seen = 0;
  for (const { leave } of roster) {
    leave?.();
    seen++;
  }
  expect(seen).toBe(5);
  expect(roster.size).toBe(0);
});

type Leave = () => void;
