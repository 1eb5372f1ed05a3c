import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
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
  it("make room for others, the oldest silent one first (SEC-36)", async () => {
    const { port } = await startTestGateway({ limits: { connections: 4 } });
    const kept = new RawConnection(port).send(HEALTH);
    await kept.until('"ok"');
    const silent = await Promise.all([0, 1, 2].map(() => openSilent(port)));
    for (let n = 0; n < 3; n++) {
      const one = new RawConnection(port).send(HEALTH);
      await one.until('"ok"');
    }
    await Promise.all(silent.map((connection) => connection.closed()));
    expect(kept.isClosed).toBe(false);
    const next = new RawConnection(port).send(HEALTH);
    await next.until('"ok"');
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
