import type { AuthHook } from "./plugin-api.ts";
import { type Environment, firstLine, runExcursor, spawnExcursor } from "./run-excursor.ts";

/** What OpenCode is told to keep: the login itself is where `excursor login` keeps it. */
const KEPT_ELSEWHERE = { type: "success", key: "kept-by-excursor" } as const;
const FAILED = { type: "failed" } as const;

/** The ways to sign in, which are those of `excursor login`. */
export function signInMethods(environment: Environment, account: readonly string[]): AuthHook["methods"] {
  const login = ["login", ...account];
  return [
    {
      type: "oauth",
      label: "Cursor account (browser)",
      async authorize() {
        const child = spawnExcursor([...login, "--json", "--no-browser"], environment);
        const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
        const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
        return {
          url,
          instructions: "Sign in to Cursor in the browser.",
          method: "auto",
          callback: async () => ((await exited) === 0 ? KEPT_ELSEWHERE : FAILED),
        };
      },
    },
    {
      type: "api",
      label: "Cursor API key",
      prompts: [{ type: "text", key: "key", message: "API key of the Cursor dashboard" }],
      async authorize(inputs) {
        const isDone = await runExcursor([...login, "--api-key"], inputs?.["key"] ?? "", environment);
        return isDone ? KEPT_ELSEWHERE : FAILED;
      },
    },
  ];
}

/** Takes over what another plugin for Cursor has kept in OpenCode as `refresh|apiKey`. */
export const importSeed = (seed: string, environment: Environment, account: readonly string[]): Promise<boolean> =>
  runExcursor(["login", ...account, "--seed"], seed, environment);
