import { styleText } from "node:util";
import { renderUnicodeCompact } from "uqr";
import { type Accounts, foreignSources, openAccounts } from "../../../app/accounts/open-accounts.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { secretsOf } from "../../../app/secrets-of.ts";
import { sessionWebsiteOf, websiteOf } from "../../../config/backend-origin.ts";
import { ACCOUNT_NAME } from "../../../config/settings.ts";
import { unlessAborted } from "../../../core/abort-race.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { renewLogin } from "../../../credentials/auth-client.ts";
import { beginLogin, waitForLogin } from "../../../credentials/browser-login.ts";
import { loginByCookie } from "../../../credentials/cookie-login.ts";
import { canRenew, isFresh, type Login, parseSeed } from "../../../credentials/login.ts";
import { loadProfile } from "../../../credentials/profile.ts";
import { createLog } from "../../../observe/log.ts";
import { createRedactor } from "../../../observe/redactor.ts";
import { openBrowser } from "../../open-browser.ts";
import { readSecret } from "../../terminal/read-secret.ts";
import { startSpinner } from "../../terminal/spinner.ts";

export interface LoginFlags {
  readonly account: string;
  readonly apiKey?: string | true | undefined;
  readonly cookie?: string | true | undefined;
  readonly from?: "ide" | "cli" | undefined;
  readonly seed?: string | true | undefined;
  readonly browser: boolean;
  readonly upstream?: string | undefined;
  readonly json: boolean;
}

/** Signs in, checks the login and stores it. Ctrl-C changes nothing. */
export async function runLogin(flags: LoginFlags): Promise<void> {
  const { account: name, json } = flags;
  if (!ACCOUNT_NAME.test(name)) {
    throw new ExcursorError("invalid-request", "The name of an account must have 1 to 64 letters, digits and . _ @ -.");
  }
  const loaded = loadConfig({ flags: { upstream: flags.upstream }, environment: process.env });
  const notices: string[] = [];
  const redactor = createRedactor(secretsOf(loaded));
  const log = createLog({
    level: loaded.values.logLevel,
    redactor,
    write: (text) => process.stderr.write(text),
    isPretty: process.stderr.isTTY,
  });
  const accounts = openAccounts(loaded, {
    onSecret: (secret) => redactor.add(secret.reveal()),
    onNotice: (text) => notices.push(text),
    log,
  });
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const { origin, store, transport } = accounts;
  try {
    // Throws early if the file is unusable, before the user goes to the browser.
    store.list();
    const login = await unlessAborted(getLogin(flags, accounts, loaded.home, interrupt.signal), interrupt.signal);
    if (!login.access) throw new ExcursorError("upstream-protocol", "The backend returned no token.");
    const { clientVersion } = loaded.values;
    const profile = loadProfile(login.access, { transport, origin, clientVersion });
    const { email, plan } = await unlessAborted(profile, interrupt.signal);
    const kept = await store.lock.run(() => store.write({ name, origin, login }));
    for (const notice of notices) process.stderr.write(`${printable(notice)}\n`);
    const place = kept === "file" ? store.path : "the system keychain";
    const who = printable(`${email}${plan === undefined ? "" : ` (${plan})`}`);
    process.stdout.write(
      json
        ? `${jsonText({ account: name, email, plan, kept, renews: canRenew(login) })}\n`
        : `Signed in as ${who}. The login is stored in ${place}.\n`,
    );
    if (!canRenew(login)) process.stderr.write("This login cannot be renewed. Sign in again when it has expired.\n");
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw new ExcursorError("canceled", "The sign-in was cancelled. Nothing was changed.");
  } finally {
    accounts.close();
  }
}

async function getLogin(flags: LoginFlags, accounts: Accounts, home: string, signal: AbortSignal): Promise<Login> {
  const { auth, origin, transport } = accounts;
  const none = { access: undefined, refresh: undefined, apiKey: undefined };
  if (flags.apiKey !== undefined) {
    return renewLogin(auth, { ...none, apiKey: await readSecret(flags.apiKey, "API key", signal) });
  }
  if (flags.cookie !== undefined) {
    const cookie = await readSecret(flags.cookie, "cookie", signal);
    return loginByCookie(cookie, { transport, auth, website: sessionWebsiteOf(origin) });
  }
  if (flags.seed !== undefined) {
    const seed = await readSecret(flags.seed, "refresh token", signal);
    return renewLogin(auth, { ...none, ...parseSeed(seed.reveal()) });
  }
  if (flags.from !== undefined) {
    const login = await importLogin(flags.from, home);
    return isFresh(login.access, Date.now()) || !canRenew(login) ? login : renewLogin(auth, login);
  }
  return loginByBrowser(flags, accounts, signal);
}

/** Copies the login of another program. Both have it from then on, and each renews its own. */
async function importLogin(from: "ide" | "cli", home: string): Promise<Login> {
  const ids = from === "ide" ? ["cursor-ide"] : ["cursor-cli", "macos-keychain"];
  const sources = foreignSources(home).filter(({ id }) => ids.includes(id));
  for (const source of sources) {
    const found = await source.find();
    if (found) return found.login;
  }
  throw new ExcursorError("nothing_to_import", [sources.map(({ place }) => place).join("; ")]);
}

async function loginByBrowser(
  { browser, json }: LoginFlags,
  { auth, origin }: Accounts,
  signal: AbortSignal,
): Promise<Login> {
  const pending = beginLogin(websiteOf(origin));
  const { url } = pending;
  if (json) process.stdout.write(`${jsonText({ url })}\n`);
  const isOpened = browser && openBrowser(url);
  const address = styleText("bold", url, { stream: process.stderr });
  process.stderr.write(
    isOpened
      ? `Your browser opens for the sign-in. If it does not, open this URL:\n\n  ${address}\n\n`
      : `Open this URL in a browser, on any device:\n\n  ${address}\n\n${qrCode(url)}\n`,
  );
  process.stderr.write("Waiting for the sign-in. Ctrl-C cancels.\n");
  const spinner = startSpinner();
  try {
    return { ...(await waitForLogin(auth, pending, { signal })), apiKey: undefined };
  } finally {
    spinner.stop();
  }
}

/** Returns a QR code; empty if stderr is not a terminal. */
const qrCode = (url: string): string => (process.stderr.isTTY ? `${renderUnicodeCompact(url, { border: 2 })}\n` : "");
