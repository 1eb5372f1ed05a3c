import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { BodyBudget } from "../../src/server/gate/body-budget.ts";
import { UnverifiedTokens } from "../../src/server/gate/unverified-tokens.ts";
import { chatBody, KEY, postChat, startTestGateway } from "./support/gateway.ts";
import { RawConnection } from "./support/raw.ts";

/** A token that has the right form and that nobody has signed. */
const forgedToken = (index: number): string =>
  `eyJ${"a".repeat(30)}.${String(index).padStart(40, "b")}.${"c".repeat(43)}`;

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("strangers with made-up tokens", () => {
  it("cannot make the gateway forget its own secrets (SEC-50)", async () => {
    const redactor = createRedactor();
    const account = "the-token-of-the-account-0123456789";
    redactor.add(account);
    const gateway = await startTestGateway({ redactor });
    for (let index = 0; index < 600; index++) {
      const path = index % 2 === 0 ? "/nowhere" : "/healthz";
      await (await fetch(`${gateway.url}${path}`, as(forgedToken(index)))).text();
    }
    const answer = postChat(gateway);
    (await gateway.engine.next()).fail(new ExcursorError("upstream-failed", `It says: ${account} is wrong.`));
    const body = await (await answer).text();
    expect(body).not.toContain(account);
    expect(body).toContain("[redacted]");
  });
});

const HEALTH = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

describe("silent connections", () => {
  it("make room for others, and so do refused ones, before one that was used with the key (SEC-36)", async () => {
    const { port } = await startTestGateway({ limits: { connections: 4 } });
    const models = `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\n\r\n`;
    const kept = new RawConnection(port).send(models);
    await kept.until("some-model");
    const silent = await Promise.all([0, 1, 2].map(() => openSilent(port)));
    for (let n = 0; n < 3; n++) {
      const one = new RawConnection(port).send(HEALTH);
      await one.until('"ok"');
    }
    await Promise.all(silent.map((connection) => connection.closed()));
    expect(kept.isClosed).toBe(false);
    // With nothing but such, the oldest of them goes.
    for (let n = 0; n < 4; n++) await new RawConnection(port).send(models).until("some-model");
    await kept.closed();
  });

  it("that have sent half a header make room, too", async () => {
    const { port } = await startTestGateway({ limits: { connections: 2 } });
    const half = await Promise.all([0, 1].map(() => openSilent(port, "GET /healthz HTTP/1.1\r\nHo")));
    expect(await new RawConnection(port).send(HEALTH).until('"ok"')).toContain("200");
    await half[0]?.closed();
  });

  it("whose requests are being answered are left alone; then whoever comes is told to wait", async () => {
    const gateway = await startTestGateway({ limits: { connections: 2 } });
    const answers = [];
    for (let n = 0; n < 2; n++) {
      const response = postChat(gateway, { stream: true });
      const answer = await gateway.engine.next();
      answer.say("x");
      answers.push({ response: await response, answer });
    }
    const refused = await new RawConnection(gateway.port).send(HEALTH).closed();
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1/s);
    for (const { response, answer } of answers) {
      answer.finish();
      expect(await response.text()).toContain("[DONE]");
    }
    await new RawConnection(gateway.port).send(HEALTH).until('"ok"');
  });
});

describe("requests that were sent ahead", () => {
  const body = chatBody();
  const post = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  it("are answered one after the other, in order", async () => {
    const gateway = await startTestGateway();
    const connection = new RawConnection(gateway.port).send(post.repeat(3) + HEALTH);
    for (const text of ["one", "two", "three"]) {
      const answer = await gateway.engine.next();
      expect(gateway.engine.answers.filter(({ isLeft }) => !isLeft)).toHaveLength(gateway.engine.answers.length);
      expect(gateway.engine.answers.at(-1)).toBe(answer);
      answer.say(text);
      answer.finish();
      await connection.until(text);
    }
    expect(await connection.until('{"status":"ok"}')).toMatch(/one.*two.*three/s);
  });

  it.each([600, 100])("%d of them from a client that is gone: none but the first is begun", async (count) => {
    const gateway = await startTestGateway();
    const connection = new RawConnection(gateway.port).send(post.repeat(count));
    const first = await gateway.engine.next();
    connection.socket.destroy();
    await first.aborted;
    // Nothing is left that would keep the gateway from closing.
    await gateway.close(60_000);
    expect(gateway.engine.answers).toHaveLength(1);
  });

  it("and a half-closed connection: the last one is answered, and a dead client is noticed", async () => {
    const gateway = await startTestGateway();
    const connection = new RawConnection(gateway.port).send(post.repeat(2));
    connection.socket.end();
    (await gateway.engine.next()).finish();
    const second = await gateway.engine.next();
    connection.socket.destroy();
    expect(await second.aborted).toMatchObject({ code: "client_gone" });
  });
});

async function openSilent(port: number, text = ""): Promise<RawConnection> {
  const connection = new RawConnection(port);
  await once(connection.socket, "connect");
  return text === "" ? connection : connection.send(text);
}

/** A request that announces so many bytes, and sends some of them. */
function unfinished(port: number, key: string, announced: number, sent = 0): RawConnection {
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "Host: localhost",
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${announced}`,
  ];
  return new RawConnection(port).send(`${head.join("\r\n")}\r\n\r\n${" ".repeat(sent)}`);
}

/** Asks for leave to send so many bytes, until the answer has this status. */
async function verdictOnce(status: "100" | "503", port: number, announced: number): Promise<string> {
  for (;;) {
    const connection = new RawConnection(port).send(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${announced}\r\n\r\n`,
    );
    const text = await connection.until("\r\n\r\n");
    connection.socket.destroy();
    if (text.startsWith(`HTTP/1.1 ${status}`)) return text;
  }
}

describe("unfinished bodies", () => {
  const limits = { bodyBytes: 40_000, bodiesBytes: 100_000 };

  it("have a budget together: beyond it others are told to wait, before they send (SEC-36)", async () => {
    const gateway = await startTestGateway({ limits: { ...limits, bodiesBytes: 50_000 } });
    const slow = unfinished(gateway.port, KEY, 40_000, 30_000);
    const refused = await verdictOnce("503", gateway.port, 25_000);
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1/s);
    // What is small still finds room, and what is over gives its room back.
    const small = postChat(gateway);
    (await gateway.engine.next()).finish();
    expect((await small).status).toBe(200);
    slow.socket.destroy();
    await verdictOnce("100", gateway.port, 25_000);
  });

  it("count as they arrive, too, where no length is announced", async () => {
    const gateway = await startTestGateway({ limits: { ...limits, bodiesBytes: 50_000 } });
    const chunked = () =>
      new RawConnection(gateway.port).send(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n7530\r\n${" ".repeat(30_000)}\r\n`,
      );
    const both = [chunked(), chunked()];
    const refused = await Promise.race(both.map((one) => one.until("too_many_bodies")));
    expect(refused).toMatch(/^HTTP\/1\.1 503/);
    for (const one of both) one.socket.destroy();
  });

  it("of one sender have at most a share", () => {
    const budget = new BodyBudget({ maxBytes: 100, maxShareBytes: 50 });
    budget.add("a", 40);
    expect(() => budget.check("a", 20)).toThrow("too many large requests");
    expect(() => budget.check("b", 20)).not.toThrow();
    budget.add("b", 40);
    expect(() => budget.check("c", 30)).toThrow("too many large requests");
    budget.add("a", -40);
    expect(budget.bytes).toBe(40);
    expect(() => budget.check("a", 50)).not.toThrow();
  });

  it("that are only announced take nothing from others", async () => {
    const gateway = await startTestGateway({ limits });
    for (let n = 0; n < 20; n++) unfinished(gateway.port, KEY, 40_000);
    const small = postChat(gateway);
    (await gateway.engine.next()).finish();
    expect((await small).status).toBe(200);
  });

  it("that stall end with 408", async () => {
    const { port, engine } = await startTestGateway({ limits: { bodyIdleMs: 30 } });
    expect(await unfinished(port, KEY, 100, 10).until("body_stalled")).toMatch(/^HTTP\/1\.1 408/);
    expect(engine.answers).toHaveLength(0);
  });
});

describe("a token that nobody has accepted yet", () => {
  const limits = { unverifiedRequests: 2, unverifiedBodyBytes: 1000 };
  const large = { messages: [{ role: "user", content: "x".repeat(2000) }] };

  it("has few seats with all others like it; the key and accepted tokens are not concerned", async () => {
    const gateway = await startTestGateway({ limits });
    const known = postChat(gateway, {}, as(forgedToken(0)));
    (await gateway.engine.next()).finish();
    expect((await known).status).toBe(200);
    const waiting = [1, 2].map((index) => postChat(gateway, {}, as(forgedToken(index))));
    const [first, second] = [await gateway.engine.next(), await gateway.engine.next()];
    const refused = await postChat(gateway, {}, as(forgedToken(3)));
    expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toMatchObject([
      429,
      "1",
      { error: { code: "too_many_unverified" } },
    ]);
    for (const init of [as(KEY), as(forgedToken(0))]) {
      const answer = postChat(gateway, large, init);
      (await gateway.engine.next()).finish();
      expect((await answer).status).toBe(200);
    }
    // The first word of an answer is the backend's word for the token.
    first.say("x");
    first.finish();
    await (await waiting[0])?.text();
    const next = postChat(gateway, {}, as(forgedToken(3)));
    const answer = await gateway.engine.next();
    answer.finish();
    second.finish();
    expect([(await next).status, (await waiting[1])?.status]).toEqual([200, 200]);
  });

  it("is marked as unverified until it is accepted", async () => {
    const gateway = await startTestGateway({ limits });
    for (const init of [as(forgedToken(0)), as(forgedToken(0)), as(KEY)]) {
      const response = postChat(gateway, {}, init);
      (await gateway.engine.next()).finish();
      expect((await response).status).toBe(200);
    }
    const isUnverified = gateway.engine.answers.map(({ turn }) => turn.principal.isUnverified ?? false);
    expect(isUnverified).toEqual([true, false, false]);
  });

  it("keeps no seat while its answer goes on", async () => {
    const gateway = await startTestGateway({ limits: { ...limits, unverifiedRequests: 1 } });
    const long = postChat(gateway, { stream: true }, as(forgedToken(1)));
    const answer = await gateway.engine.next();
    answer.say("x");
    await long;
    const next = postChat(gateway, {}, as(forgedToken(2)));
    (await gateway.engine.next()).finish();
    expect((await next).status).toBe(200);
    answer.finish();
    await (await long).text();
  });

  it("has it looked at by the backend before a large body is read, and is refused as the backend says", async () => {
    const asked: string[] = [];
    const verifyToken = async ({ id }: { readonly id: string }) => {
      asked.push(id);
      if (asked.length > 1) throw new ExcursorError("unauthenticated", "The backend does not know this token.");
    };
    const gateway = await startTestGateway({ limits, verifyToken });
    const good = postChat(gateway, large, as(forgedToken(1)));
    (await gateway.engine.next()).finish();
    expect((await good).status).toBe(200);
    const again = postChat(gateway, large, as(forgedToken(1)));
    (await gateway.engine.next()).finish();
    expect((await again).status).toBe(200);
    expect(asked).toHaveLength(1);
    const bad = await postChat(gateway, large, as(forgedToken(2)));
    expect([bad.status, await bad.text()]).toEqual([401, expect.stringContaining("does not know this token")]);
    const chunked = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${forgedToken(3)}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
    expect(await new RawConnection(gateway.port).send(chunked).until("does not know this token")).toMatch(/ 401 /);
    expect(gateway.engine.answers).toHaveLength(2);
  });

  it("may send no large body where nobody can be asked", async () => {
    const gateway = await startTestGateway({ limits });
    expect((await postChat(gateway, large, as(forgedToken(1)))).status).toBe(413);
  });

  it("counts as new again once the backend refuses it, and after an hour", () => {
    let now = 0;
    const unverified = new UnverifiedTokens({ maxRequests: 1, maxBodyBytes: 1, now: () => now });
    const principal = { id: "token_a", token: undefined };
    unverified.admit(principal)?.accept();
    expect(unverified.admit(principal)).toBeUndefined();
    now = 3_600_001;
    unverified.admit(principal)?.accept();
    expect(unverified.admit(principal)).toBeUndefined();
    unverified.refuse(principal);
    unverified.admit(principal);
    expect(() => unverified.admit(principal)).toThrow("unverified Cursor tokens");
  });
});
