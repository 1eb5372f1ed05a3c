import { GatewayProcess } from "./gateway-process.ts";
import { listModels } from "./list-models.ts";
import { forgetSecret, KEPT_ELSEWHERE, storedAuth } from "./opencode-auth.ts";
import type { Plugin, PluginConfig, StoredAuth } from "./plugin-api.ts";
import {
  isUnfinished,
  rememberedModels,
  rememberModels,
  rememberSignIn,
  rememberUnfinished,
  wasSignedIn,
} from "./plugin-state.ts";
import { createReporter } from "./reporter.ts";
import { type AccountChoice, signInMethods, signOut, takeOver } from "./sign-in.ts";
import { within } from "./within.ts";

const PROVIDER = "cursor";

/** How long OpenCode's start waits for the sign-in and the models, with and without a list of an earlier start. */
export interface ModelWaits {
  readonly knownMs: number;
  readonly unknownMs: number;
}

export const createPlugin =
  (waits: ModelWaits): Plugin =>
  async ({ client }, options = {}) => {
    const account = chooseAccount(options["account"]);
    const report = createReporter(client);
    const gateway = new GatewayProcess(account.environment);
    const listKey = JSON.stringify([account.name, process.env["EXCURSOR_UPSTREAM"], process.env["EXCURSOR_HOME"]]);
    const remember = (isSignedIn: boolean) => rememberSignIn(account.name, isSignedIn);
    let isElsewhere = false;
    let isOver = false;
    let tried: string | undefined;
    let settling: Promise<void> = Promise.resolve();

    /**
     * Brings the account in line with OpenCode's stored auth: takes over secrets, and signs out after a logout there.
     */
    const settle = async (stored: StoredAuth | "none" | "unknown"): Promise<void> => {
      if (stored === "unknown" || isElsewhere) return;
      if (stored === "none") {
        if (!wasSignedIn(account.name)) return;
        await signOut(account, report);
        remember(false);
        return;
      }
      const secret = stored.type === "oauth" ? stored.refresh : stored.key;
      if (secret === KEPT_ELSEWHERE) {
        if (!wasSignedIn(account.name)) remember(true);
        return;
      }
      // An account that is signed in already does not need another plugin's login.
      if (secret === tried || (stored.type === "oauth" && (await gateway.isSignedIn().catch(() => false)))) return;
      tried = secret;
      rememberUnfinished(listKey, true);
      const outcome = await takeOver(stored, account, report);
      if (outcome !== "failed") rememberUnfinished(listKey, false);
      // After other failures the next start tries again. Another plugin's login is not ours to remove.
      if (outcome === "failed" || (outcome === "refused" && stored.type === "oauth")) return;
      if (!(await forgetSecret(client, PROVIDER)))
        report(
          "warn",
          `OpenCode still stores the secret itself. Run \`opencode auth logout ${PROVIDER}\`, then sign in again.`,
        );
      remember(outcome === "signed-in");
      // The gateway was started without a login, so it must start again.
      await gateway.stop();
    };

    /** Runs one at a time: two at once would sign in twice. */
    const settleNext = (read: () => StoredAuth | "none" | "unknown"): Promise<void> => {
      // The caller of each one gets its failure.
      settling = settling.catch(() => {}).then(() => settle(read()));
      return settling;
    };

    const freshModels = async (): Promise<Record<string, object>> => {
      const isSignedIn = await gateway.isSignedIn();
      const models = await listModels(gateway.fetch, gateway.baseUrl);
      if (Object.keys(models).length > 0) rememberModels(listKey, models);
      else if (isSignedIn) await explainEmptyList();
      else {
        report("info", "No Cursor account is signed in: run `opencode auth login`.");
        await gateway.stop();
      }
      return models;
    };

    /**
     * Throws the reason for an empty list. The list omits a failing upstream; a request for one model reports its
     * error.
     */
    const explainEmptyList = async (): Promise<void> => {
      const response = await gateway.fetch(`${gateway.baseUrl}/models/auto`, { signal: AbortSignal.timeout(30_000) });
      const body = (await response.json()) as { error?: { message?: string } };
      throw new Error(body.error?.message ?? "The account has no models.");
    };

    /** Settles and lists the models. If that takes too long for OpenCode's start, it continues in the background. */
    const models = async (): Promise<Record<string, object>> => {
      const known = rememberedModels(listKey);
      const wasUnfinished = isUnfinished(listKey);
      const fresh = settleNext(() => storedAuth(PROVIDER))
        // Starts nothing after OpenCode has ended.
        .then(() => (isOver ? {} : freshModels()))
        .catch((error: unknown) => {
          if (!isOver)
            report(
              "error",
              `Cursor's models could not be listed: ${error instanceof Error ? error.message : "the gateway failed."}`,
            );
          return known ?? {};
        });
      if (known && wasUnfinished) {
        report("info", "The last sign-in to Cursor is not finished. The model list of the last start is used.");
        return known;
      }
      const waitMs = known || wasUnfinished ? waits.knownMs : waits.unknownMs;
      const listed = await within(fresh, waitMs);
      if (listed) return listed;
      const rest = known
        ? "the model list of the last start is used."
        : "they will be available at the next start if Cursor answers then.";
      report(known ? "info" : "warn", `Cursor did not list its models within ${waitMs / 1000} seconds; ${rest}`);
      return known ?? {};
    };

    return {
      async config(config: PluginConfig) {
        const own = config.provider?.[PROVIDER] ?? {};
        const address = own.options?.["baseURL"];
        isElsewhere = address !== undefined && !gateway.owns(address);
        if (isElsewhere) {
          report("info", `provider.${PROVIDER} sets its own baseURL, so the plugin does not change it.`);
          return;
        }
        config.provider = {
          ...config.provider,
          [PROVIDER]: {
            npm: "@ai-sdk/openai-compatible",
            name: "Cursor",
            ...own,
            options: { baseURL: gateway.baseUrl, apiKey: KEPT_ELSEWHERE, fetch: gateway.fetch, ...own.options },
            models: { ...(await models()), ...own.models },
          },
        };
      },
      auth: {
        provider: PROVIDER,
        methods: signInMethods(account, report, () => remember(true)),
        async loader(auth) {
          if (isElsewhere) return {};
          const stored = (await auth()) ?? "unknown";
          const settled = settleNext(() => stored);
          if (!isUnfinished(listKey)) await within(settled, waits.knownMs);
          return { baseURL: gateway.baseUrl, fetch: gateway.fetch };
        },
      },
      async dispose() {
        isOver = true;
        // `opencode auth login` ends here. The key that it has stored must not stay there.
        await settleNext(() => storedAuth(PROVIDER));
        await gateway.stop();
      },
    };
  };

function chooseAccount(given: unknown): AccountChoice {
  if (typeof given === "string") return { name: given, environment: { EXCURSOR_ACCOUNT: given } };
  return { name: process.env["EXCURSOR_ACCOUNT"] || "default", environment: {} };
}
