/** OpenCode's plugin interface, as far as this one uses it. */

export type Plugin = (input: unknown, options?: Readonly<Record<string, unknown>>) => Promise<Hooks>;

interface Hooks {
  readonly config: (config: PluginConfig) => Promise<void>;
  readonly auth: AuthHook;
  readonly dispose: () => Promise<void>;
}

export interface PluginConfig {
  provider?: Record<string, ProviderConfig>;
}

/** What the user wrote about the provider comes before what we say. */
interface ProviderConfig {
  npm?: string;
  name?: string;
  options?: Record<string, unknown>;
  models?: Record<string, object>;
}

export interface AuthHook {
  readonly provider: string;
  readonly loader: (auth: () => Promise<StoredAuth | undefined>) => Promise<Record<string, unknown>>;
  readonly methods: readonly (BrowserMethod | KeyMethod)[];
}

/** What OpenCode keeps; other plugins for Cursor keep `refresh|apiKey` in it. */
type StoredAuth = { readonly type: "oauth"; readonly refresh: string } | { readonly type: "api"; readonly key: string };

interface BrowserMethod {
  readonly type: "oauth";
  readonly label: string;
  authorize(): Promise<{
    readonly url: string;
    readonly instructions: string;
    readonly method: "auto";
    callback(): Promise<SignInResult>;
  }>;
}

interface KeyMethod {
  readonly type: "api";
  readonly label: string;
  readonly prompts: readonly { readonly type: "text"; readonly key: string; readonly message: string }[];
  authorize(inputs?: Readonly<Record<string, string>>): Promise<SignInResult>;
}

type SignInResult = { readonly type: "success"; readonly key: string } | { readonly type: "failed" };
