import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { legacyHeaders } from "../../../src/drivers/cursor-legacy/headers.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it("the older chat calls send the headers of the IDE", () => {
  const headers = legacyHeaders({ id: "me", token: new Secret("t0ken") });
  expect(headers).toMatchObject({
    authorization: "Bearer t0ken",
    "connect-protocol-version": "1",
    "connect-accept-encoding": "gzip",
    "content-type": "application/connect+proto",
    "user-agent": expect.stringMatching(/^connect-es\/\d/),
    "x-client-key": sha256("t0ken"),
    "x-cursor-checksum": expect.stringMatching(new RegExp(`^[\\w-]{8}${sha256("me")}$`)),
    "x-cursor-client-type": "ide",
    "x-cursor-client-version": expect.stringMatching(/^\d+\.\d+\.\d+$/),
    "x-cursor-streaming": "true",
    "x-cursor-timezone": Intl.DateTimeFormat().resolvedOptions().timeZone,
    "x-ghost-mode": "true",
    "x-session-id": expect.stringMatching(UUID),
  });
  expect(headers["x-amzn-trace-id"]).toBe(`Root=${headers["x-request-id"]}`);
});

it("the session is that of the account: it stays when the token is renewed, and no other account has it", () => {
  const sessionOf = (id: string, token: string) => legacyHeaders({ id, token: new Secret(token) })["x-session-id"];
  expect(sessionOf("me", "old")).toBe(sessionOf("me", "new"));
  expect(sessionOf("me", "old")).not.toBe(sessionOf("you", "old"));
});

it("version and checksum are those of the settings", () => {
  const client = { clientVersion: "3.1.0", checksum: "Vfb45Bi9abc/def" };
  expect(legacyHeaders({ id: "me", token: new Secret("t") }, client)).toMatchObject({
    "x-cursor-client-version": "3.1.0",
    "x-cursor-checksum": "Vfb45Bi9abc/def",
  });
});
