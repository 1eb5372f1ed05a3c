import { expect, it } from "vitest";
import { KEY, postChat, startTestGateway } from "./support/gateway.ts";
import { RawConnection } from "./support/raw.ts";

const HEALTH = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

it("answers under way finish, new requests are refused, readiness flips and liveness stays", async () => {
  const gateway = await startTestGateway();
  const request = postChat(gateway, { stream: true });
  const answer = await gateway.engine.next();
  answer.say("first");
  const response = await request;
  const probe = new RawConnection(gateway.port).send(HEALTH("/readyz"));
  await probe.until('{"status":"ready"}');

  const closed = gateway.close(30_000);
  probe.send(HEALTH("/readyz"));
  expect(await probe.until('{"status":"draining"}')).toContain("HTTP/1.1 503");
  probe.send(HEALTH("/healthz"));
  await probe.until('{"status":"ok"}');
  const late = await postChat(gateway);
  expect([late.status, late.headers.get("connection")]).toEqual([503, "close"]);
  expect(await late.json()).toMatchObject({ error: { code: "shutting_down" } });
  expect(gateway.engine.answers).toHaveLength(1);

  answer.say(" last");
  answer.finish();
  const text = await response.text();
  expect(text).toContain(" last");
  expect(text).toContain("[DONE]");
  await closed;
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
});

it("answers that take too long end with an error in the dialect", async () => {
  const gateway = await startTestGateway();
  const [streamed, silent, whole] = [{ stream: true }, { stream: true }, {}].map((extra) => postChat(gateway, extra));
  const first = await gateway.engine.next();
  await gateway.engine.next();
  await gateway.engine.next();
  const begun = gateway.engine.answers.filter(({ turn }) => turn === first.turn);
  for (const answer of gateway.engine.answers) answer.say("half");
  expect(begun).toHaveLength(1);
  const response = await streamed;
  await gateway.close(0);
  const text = await response?.text();
  expect(text).toContain("shutting_down");
  expect(text).not.toContain("[DONE]");
  expect(await (await silent)?.text()).toContain("shutting_down");
  const late = await whole;
  expect([late?.status, await late?.json()]).toMatchObject([503, { error: { code: "shutting_down" } }]);
  expect(gateway.engine.answers.every(({ context }) => context.signal.aborted)).toBe(true);
});

it("with nothing under way it is over at once, idle connections and all", async () => {
  const gateway = await startTestGateway();
  const idle = new RawConnection(gateway.port).send(HEALTH("/healthz"));
  await idle.until("ok");
  await gateway.close(30_000);
  await idle.closed();
});

it("a thousand short requests on one connection are all answered", async () => {
  const gateway = await startTestGateway();
  const connection = new RawConnection(gateway.port);
  for (let index = 0; index < 1000; index++) {
    connection.send(
      `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${KEY}\r\nx-request-id: n${index}\r\n\r\n`,
    );
    await connection.until(`x-request-id: n${index}`);
  }
  expect(connection.received.match(/HTTP\/1\.1 200/g)).toHaveLength(1000);
  connection.socket.destroy();
});
