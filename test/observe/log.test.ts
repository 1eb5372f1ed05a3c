import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createLog, type LogOptions } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";

const JWT = `eyJ${"hbGciOiJIUzI1NiJ9".repeat(2)}.${"eyJzdWIiOiJ1c2VyIn0".repeat(2)}.${"c2lnbmF0dXJl".repeat(3)}`;
const LIVE = {
  short: "s3cret-8",
  long: "a-long-secret-of-the-account-0123456789-abcdefghijklmnop",
  odd: 'quote"back\\slash/and ümlaut?&=',
  jwt: JWT,
};

afterEach(() => vi.useRealTimers());

function capture(options: Partial<LogOptions> = {}) {
  const redactor = createRedactor();
  for (const secret of Object.values(LIVE)) redactor.add(secret);
  let text = "";
  const log = createLog({
    level: "debug",
    redactor,
    write: (lines) => {
      text += lines;
    },
    isPretty: false,
    ...options,
  });
  return { log, lines: () => text };
}

describe("no secret leaves by the log", () => {
  const { short, long, odd, jwt } = LIVE;
  const base64 = (value: string) => Buffer.from(value).toString("base64");
  it.each<[where: string, canary: string, field: unknown]>([
    ["a short one", short, short],
    ["a long one", long, long],
    ["one with odd characters", odd, odd],
    ["a token", jwt, jwt],
    ["as part of a sentence", long, `the key ${long}, as given`],
    ["in a URL", encodeURIComponent(odd), `https://x/?key=${encodeURIComponent(odd)}`],
    ["in base64", base64(long), base64(long)],
    ["in base64 for URLs", Buffer.from(odd).toString("base64url"), Buffer.from(odd).toString("base64url")],
    ["in base64 without padding", base64(short).replace(/=+$/, ""), base64(short).replace(/=+$/, "")],
    ["in hex", Buffer.from(long).toString("hex"), Buffer.from(long).toString("hex")],
    ["its first half", long.slice(0, 28), `${long.slice(0, 28)}…`],
    ["as a cookie", jwt, `user_1%3A%3A${jwt}`],
    ["as a cookie, unescaped", jwt, `WorkosCursorSessionToken=user_1::${jwt}`],
    ["nested", long, { a: [{ b: long }] }],
    ["as a name", long, { [long]: 1 }],
    ["in an error's message", long, new Error(`failed with ${long}`).stack],
    ["in JSON in a text", short, JSON.stringify({ inner: JSON.stringify({ short }) })],
    ["of somebody else, as a bearer", "unknown-but-bearer", "authorization: Bearer unknown-but-bearer"],
    ["of somebody else, as a token", `${jwt}x`.slice(4), `${jwt.slice(0, -3)}abc.d`],
    ["of somebody else, as a key", "sk-proj-abcdefghijklmnopqrstuvwx", "key sk-proj-abcdefghijklmnopqrstuvwx"],
    ["of another gateway", `exc_${"Z".repeat(43)}`, `exc_${"Z".repeat(43)}`],
    ["of somebody else, in an address", "pass-of-proxy", "http://user:pass-of-proxy@127.0.0.1:1/x"],
    ["wrapped", long, new Secret(long)],
  ])("%s", (_, canary, field) => {
    for (const isPretty of [false, true]) {
      const { log, lines } = capture({ isPretty });
      log.info({ field }, `about ${typeof field === "string" ? field : "it"}`);
      const text = lines();
      expect(text).not.toContain(canary);
      expect(text).toContain("[redacted]");
      if (!isPretty) expect(() => JSON.parse(text)).not.toThrow();
    }
  });

  it("ordinary text is left alone", () => {
    const { log, lines } = capture();
    log.info({ model: "claude-4.5-sonnet", route: "/v1/models" }, "the bearer of good news, task_list, sk-8");
    expect(JSON.parse(lines())).toMatchObject({
      model: "claude-4.5-sonnet",
      msg: "the bearer of good news, task_list, sk-8",
    });
  });

  it("what is shorter than eight characters is not taken for a secret", () => {
    const redactor = createRedactor();
    redactor.add("demo");
    expect(redactor.redact("a demo")).toBe("a demo");
  });

  const name = (index: number) => `passing-secret-${String(index).padStart(5, "0")}-`;

  it("secrets of callers push out each other, and none of the gateway's (SEC-50)", () => {
    const redactor = createRedactor();
    redactor.add(LIVE.long);
    redactor.add(LIVE.odd, { type: "account", name: "work" });
    for (let index = 0; index < 1000; index++) redactor.add(name(index), "caller");
    expect(redactor.redact(name(0))).toBe(name(0));
    expect(redactor.redact(`${name(999)} ${LIVE.long} ${LIVE.odd}`)).toBe("[redacted] [redacted] [redacted]");
  });

  it("tokens of an MCP server push out each other, and no secret of an account or another server (SEC-50)", () => {
    const redactor = createRedactor();
    redactor.add(LIVE.long, { type: "account", name: "same" });
    redactor.add(LIVE.odd, { type: "server", name: "quiet" });
    for (let index = 0; index < 1000; index++) redactor.add(name(index), { type: "server", name: "same" });
    expect(redactor.redact(name(0))).toBe(name(0));
    expect(redactor.redact(`${name(999)} ${LIVE.long} ${LIVE.odd}`)).toBe("[redacted] [redacted] [redacted]");
  });

  it("the login of an account and the one before it are kept, however often another is renewed (SEC-50)", () => {
    const redactor = createRedactor();
    const tell = (account: string, generation: number) => {
      for (const kind of ["access", "refresh"]) {
        redactor.add(`${account}-${kind}-${generation}-secret`, { type: "account", name: account });
      }
      redactor.add(`${account}-api-key-secret`, { type: "account", name: account });
    };
    tell("quiet", 0);
    for (let generation = 0; generation < 1000; generation++) tell("busy", generation);
    for (const secret of [
      "quiet-access-0-secret",
      "busy-access-999-secret",
      "busy-refresh-999-secret",
      "busy-access-998-secret",
      "busy-api-key-secret",
    ]) {
      expect(redactor.redact(secret)).toBe("[redacted]");
    }
    expect(redactor.redact("busy-access-0-secret")).toBe("busy-access-0-secret");
  });

  it("a caller that brings a secret of the gateway does not make it one of the callers'", () => {
    const redactor = createRedactor();
    redactor.add(LIVE.long, "caller");
    redactor.add(LIVE.long);
    redactor.add(LIVE.long, "caller");
    for (let index = 0; index < 1000; index++) redactor.add(name(index), "caller");
    expect(redactor.redact(LIVE.long)).toBe("[redacted]");
  });

  it("secrets that overlap or contain each other leave nothing behind", () => {
    const redactor = createRedactor();
    for (const secret of ["abcdefgh-ijkl", "abcdefgh-ijkl-mnop-qrst", "qrst-uvwx-yz01"]) redactor.add(secret);
    expect(redactor.redact("<abcdefgh-ijkl-mnop-qrst-uvwx-yz01>abcdefgh-ijkl<")).toBe("<[redacted]>[redacted]<");
  });

  it("finds every secret, wherever it stands", () => {
    const secret = fc.string({ minLength: 8, maxLength: 20, unit: fc.constantFrom("a", "b", '"', "ü") });
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 5 }), fc.array(fc.string()), (secrets, between) => {
        const redactor = createRedactor();
        for (const one of secrets) redactor.add(one);
        const text = between.flatMap((words, index) => [words, secrets[index % secrets.length] ?? ""]).join("");
        const clean = redactor.redact(text);
        for (const one of secrets) expect(clean).not.toContain(one);
      }),
    );
  });
});

describe("a line", () => {
  it.each([
    ["a line break", "a\nb\r\nc"],
    ["an escape sequence", "\u001b[31mred\u001b[0m"],
    ["a one-byte escape", "\u009b31m"],
    ["text that runs backwards", "a\u202eb\u2066c\u200f"],
    ["separators of other alphabets", "a\u2028b\u2029c\u0085d"],
  ])("stays one line whatever is in it: %s", (_, text) => {
    for (const isPretty of [false, true]) {
      const { log, lines } = capture({ isPretty });
      log.info({ model: text }, text);
      const written = isPretty ? stripVTControlCharacters(lines()) : lines();
      expect(written.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      if (!isPretty) expect(JSON.parse(written)).toMatchObject({ model: text });
    }
  });

  it("is not written below the level", () => {
    const { log, lines } = capture({ level: "warn" });
    log.info({}, "quiet");
    log.warn({}, "loud");
    expect(lines()).toContain("loud");
    expect(lines()).not.toContain("quiet");
  });
});

it("does not fail on what JSON cannot say", () => {
  const { log, lines } = capture();
  const circle: Record<string, unknown> = { big: 1n };
  circle["self"] = circle;
  log.warn(circle, "odd");
  const { level, facts, msg } = JSON.parse(lines());
  expect({ level, msg }).toEqual({ level: "warn", msg: "odd" });
  expect(facts).toContain("1n");
});

it("is silent below its level", () => {
  const { log, lines } = capture({ level: "warn" });
  log.info({}, "no");
  log.debug({}, "no");
  log.warn({}, "yes");
  expect(lines().match(/yes|no"/g)).toEqual(["yes"]);
});
