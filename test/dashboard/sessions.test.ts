import { describe, expect, it } from "vitest";
import { LINK_MS, OneTimeLinks } from "../../src/dashboard/one-time-links.ts";
import { SESSION_MS, Sessions } from "../../src/dashboard/sessions.ts";

function clock() {
  let ms = 0;
  return {
    now: () => ms,
    pass(more: number) {
      ms += more;
    },
  };
}

describe("one-time links (SEC-47)", () => {
  it("open once", () => {
    const links = new OneTimeLinks();
    const code = links.create();
    expect([links.redeem(code), links.redeem(code)]).toEqual([true, false]);
  });

  it("are over after a minute", () => {
    const { now, pass } = clock();
    const links = new OneTimeLinks(now);
    const [early, late] = [links.create(), links.create()];
    pass(LINK_MS - 1);
    expect(links.redeem(early)).toBe(true);
    pass(1);
    expect(links.redeem(late)).toBe(false);
  });

  it("cannot be made up, and have codes of their own", () => {
    const links = new OneTimeLinks();
    const codes = [links.create(), links.create()];
    expect(new Set(codes).size).toBe(2);
    expect(codes[0]?.length).toBeGreaterThanOrEqual(43);
    expect(links.redeem("")).toBe(false);
    expect(links.redeem(`${codes[0]}x`)).toBe(false);
  });

  it("are few at a time; the oldest gives way", () => {
    const links = new OneTimeLinks();
    const codes = Array.from({ length: 17 }, () => links.create());
    expect(links.redeem(codes[0] ?? "")).toBe(false);
    expect(links.redeem(codes[1] ?? "")).toBe(true);
  });
});

describe("sessions (SEC-46)", () => {
  it("are found by their cookie until they are over", () => {
    const { now, pass } = clock();
    const sessions = new Sessions(now);
    const cookie = sessions.begin();
    const session = sessions.find(cookie.reveal());
    expect(session).toBeDefined();
    expect(sessions.find("another")).toBeUndefined();
    expect(sessions.find(undefined)).toBeUndefined();
    pass(SESSION_MS);
    expect(sessions.find(cookie.reveal())).toBeUndefined();
    expect(session && sessions.isLive(session)).toBe(false);
  });

  it("end when their user signs out, and no other one does", () => {
    const sessions = new Sessions();
    const [one, two] = [sessions.begin(), sessions.begin()];
    const session = sessions.find(one.reveal());
    if (session) sessions.end(session);
    expect(sessions.find(one.reveal())).toBeUndefined();
    expect(sessions.find(two.reveal())).toBeDefined();
  });

  it("have a token each", () => {
    const sessions = new Sessions();
    const [one, two] = [sessions.begin(), sessions.begin()].map((cookie) => sessions.find(cookie.reveal()));
    expect(one?.allows(one.csrf.reveal())).toBe(true);
    expect(one?.allows(two?.csrf.reveal())).toBe(false);
    expect([one?.allows(undefined), one?.allows("")]).toEqual([false, false]);
  });

  it("are few at a time; the oldest ends", () => {
    const sessions = new Sessions();
    const cookies = Array.from({ length: 17 }, () => sessions.begin().reveal());
    expect(sessions.find(cookies[0])).toBeUndefined();
    expect(sessions.find(cookies[16])).toBeDefined();
  });
});
