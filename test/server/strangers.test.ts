import { describe, expect, it } from "vitest";
import { ExcursorError } from "../../src/core/errors.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { postChat, startTestGateway } from "./support/gateway.ts";

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
