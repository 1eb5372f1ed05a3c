import { createAccessTokens } from "../../../src/credentials/access-tokens.ts";
import { createAccountStore } from "../../../src/credentials/account-store.ts";
import { createAuthClient } from "../../../src/credentials/auth-client.ts";
import { createStoreSource } from "../../../src/credentials/sources/store.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";

/** A process that wants the token of the account so many times at once, when it is told to, and prints what it got. */
const [home = "", origin = "", count = "1"] = process.argv.slice(2);
const transport = createHttp1Transport();
const store = createAccountStore({ home, keychain: undefined, onNotice: console.error });
const tokens = createAccessTokens({
  store,
  origin,
  auth: createAuthClient({ transport, origin }),
  sources: [createStoreSource({ store, origin, account: undefined })],
  onSecret: () => {},
  onNotice: console.error,
});
await import("node:sqlite");

process.stdout.write("ready\n");
process.stdin.once("data", async () => {
  const given = await Promise.all(Array.from({ length: Number(count) }, () => tokens.get(undefined)));
  process.stdout.write(`${JSON.stringify(given.map(({ token }) => token.reveal()))}\n`);
  transport.destroy();
  process.stdin.destroy();
});
