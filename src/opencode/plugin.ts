import { GatewayProcess } from "./gateway-process.ts";
import { listModels } from "./list-models.ts";
import type { Plugin, PluginConfig } from "./plugin-api.ts";
import { importSeed, signInMethods } from "./sign-in.ts";

const PROVIDER = "cursor";

/**
 * The plugin for OpenCode: `"plugin": ["excursor"]` gives the provider `cursor`, with the models of the account, ways to
 * sign in, and a gateway that is there when it is needed. With `["excursor", { "account": "work" }]` it uses that account.
 */
export const ExcursorPlugin: Plugin = async (_input, options = {}) => {
  const { account } = options;
  const environment = typeof account === "string" ? { EXCURSOR_ACCOUNT: account } : {};
  const accountFlags = typeof account === "string" ? ["--account", account] : [];
  const gateway = new GatewayProcess(environment);
  const models = () => listModels(gateway.fetch, gateway.baseUrl).catch(() => ({}));

  return {
    async config(config: PluginConfig) {
      const own = config.provider?.[PROVIDER] ?? {};
      const listed = await models();
      // Nobody is signed in: it will be asked again after that.
      if (Object.keys(listed).length === 0) await gateway.stop();
      config.provider = {
        ...config.provider,
        [PROVIDER]: {
          npm: "@ai-sdk/openai-compatible",
          name: "Cursor",
          ...own,
          options: { baseURL: gateway.baseUrl, apiKey: "kept-by-excursor", fetch: gateway.fetch, ...own.options },
          models: { ...listed, ...own.models },
        },
      };
    },
    auth: {
      provider: PROVIDER,
      methods: signInMethods(environment, accountFlags),
      async loader(auth) {
        const stored = await auth();
        const isSignedIn = Object.keys(await models()).length > 0;
        if (stored?.type === "oauth" && !isSignedIn) await importSeed(stored.refresh, environment, accountFlags);
        return { baseURL: gateway.baseUrl, fetch: gateway.fetch };
      },
    },
    dispose: () => gateway.stop(),
  };
};
