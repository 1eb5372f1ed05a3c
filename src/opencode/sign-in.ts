import { KEPT_ELSEWHERE } from "./opencode-auth.ts";
import type { AuthHook, StoredAuth } from "./plugin-api.ts";
import type { Report } from "./reporter.ts";
import { type Ending, type Environment, firstLine, runExcursor, spawnExcursor } from "./run-excursor.ts";

/** The account, and the environment of our commands. */
export interface AccountChoice {
  readonly name: string;
  readonly environment: Environment;
}

/** Short, because OpenCode waits for it when it starts and when it ends. */
const TAKE_OVER_TIMEOUT_MS = 10_000;
const LOGOUT_TIMEOUT_MS = 10_000;

/** The exit code of a login that the backend has refused. */
const REFUSED = 77;

/** Returns the sign-in methods: those of `excursor login`. */
export function signInMethods(
  { name, environment }: AccountChoice,
  report: Report,
  onSignedIn: () => void,
): AuthHook["methods"] {
  return [
    {
      type: "oauth",
      label: "Cursor account (browser)",
      async authorize() {
        const login = spawnExcursor(["login", "--account", name, "--json", "--no-browser"], environment);
        const { url } = JSON.parse(await firstLine(login)) as { readonly url: string };
        return {
          url,
          instructions: "Sign in to Cursor in the browser.",
          method: "auto",
          async callback() {
            const { code, reason } = await login.ended;
            if (code === 0) {
              onSignedIn();
              return { type: "success", key: KEPT_ELSEWHERE };
            }
            report("error", `Signing in failed: ${reason}`);
            return { type: "failed" };
          },
        };
      },
    },
    { type: "api", label: "Cursor API key" },
  ];
}

export type TakeOver = "signed-in" | "refused" | "failed";

/** Signs in with what OpenCode has stored: an API key, or the `refresh|apiKey` of another plugin. */
export async function takeOver(
  auth: StoredAuth,
  { name, environment }: AccountChoice,
  report: Report,
): Promise<TakeOver> {
  const [flag, secret, what] =
    auth.type === "oauth"
      ? ["--seed", auth.refresh, "the login that another plugin stored in OpenCode"]
      : ["--api-key", auth.key, "the API key"];
  const login = ["login", "--account", name, flag];
  const { code, reason }: Ending = await runExcursor(login, secret, environment, TAKE_OVER_TIMEOUT_MS);
  if (code === 0) return "signed-in";
  report("error", `Signing in to Cursor with ${what} failed: ${reason}`);
  return code === REFUSED ? "refused" : "failed";
}

/** Removes the login that `excursor login` keeps. */
export async function signOut({ name, environment }: AccountChoice, report: Report): Promise<void> {
  const { code, reason } = await runExcursor(["logout", "--account", name], "", environment, LOGOUT_TIMEOUT_MS);
  // `REFUSED` means that no account was signed in.
  if (code === 0 || code === REFUSED) report("info", `Signed out of the Cursor account ${name}, as in OpenCode.`);
  else report("warn", `Signing out of the Cursor account ${name} failed: ${reason}`);
}
