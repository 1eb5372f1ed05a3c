/** The parts of OpenCode's plugin interface that this plugin uses. */

export type Plugin = (input: PluginInput, options?: Readonly<Record<string, unknown>>) => Promise<Hooks>;

interface PluginInput {
  readonly client: OpenCodeClient;
}

/**
 * OpenCode's own server. Requests that need its session hang until the plugin's `config` has returned, so never await
 * them there.
 */
export interface OpenCodeClient {
  readonly app: {
    log(request: {
      readonly body: { readonly service: string; readonly level: Level; readonly message: string };
    }): Promise<unknown>;
  };
  readonly tui: {
    showToast(request: {
      readonly body: { readonly title: string; readonly message: string; readonly variant: ToastVariant };
    }): Promise<unknown>;
  };
  readonly auth: {
    set(request: {
      readonly path: { readonly id: string };
      readonly body: StoredAuth;
    }): Promise<{ readonly error?: unknown }>;
  };
}

export type Level = "info" | "warn" | "error";
type ToastVariant = "info" | "warning" | "error";

interface Hooks {
  readonly config: (config: PluginConfig) => Promise<void>;
  readonly auth: AuthHook;
  readonly dispose: () => Promise<void>;
}

export interface PluginConfig {
  provider?: Record<string, ProviderConfig>;
}

/** The user's own entries override ours. */
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

/** An entry of OpenCode's `auth.json`. Other plugins for Cursor store `refresh|apiKey` in it. */
export type StoredAuth =
  | { readonly type: "oauth"; readonly refresh: string }
  | { readonly type: "api"; readonly key: string };

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

/**
 * OpenCode asks for the key itself, hidden, and stores it without telling the plugin. A prompt of ours would show the
 * key. So the key is taken over from OpenCode's store.
 */
interface KeyMethod {
  readonly type: "api";
  readonly label: string;
}

type SignInResult = { readonly type: "success"; readonly key: string } | { readonly type: "failed" };
