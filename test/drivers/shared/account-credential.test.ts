import { expect, it } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { withCredential } from "../../../src/drivers/shared/account-credential.ts";

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const jwt = (exp: number) => `${part({ alg: "none" })}.${part({ sub: "me", exp })}.signature`;
const refusal = new ExcursorError("unauthenticated", "User is unauthorized", { hint: "Run `excursor login`." });

it.each([
  ["has expired", jwt(1_600_000_000), "token_expired"],
  ["is not accepted although it is not old", jwt(4_000_000_000), "token_refused"],
  ["is none that can be read", "opaque", "token_refused"],
])("a token that came with the request and %s is told as such", async (_, token, code) => {
  const principal = { id: "p", token: new Secret(token) };
  const acting = withCredential(principal, createFixedAccess(new Secret("own")), () => Promise.reject(refusal));
  const error = await acting.catch(ExcursorError.from);
  expect(error).toMatchObject({ kind: "unauthenticated", code });
  expect(`${error.message} ${error.hint}`).toMatch(/of the request\b.*API key/);
  expect(`${error.message} ${error.hint}`).not.toContain("excursor login");
});
