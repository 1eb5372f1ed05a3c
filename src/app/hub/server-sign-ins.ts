import { unlessAborted } from "../../core/abort-race.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { LoginStore } from "../../mcp/oauth/login-store.ts";
import type { ServerConfig } from "../../mcp/servers/server-config.ts";

/** A sign-in that waits for the user, or the error of the last one. */
export type SignInState =
  | { readonly type: "waiting"; readonly page: URL | undefined }
  | { readonly type: "failed"; readonly error: ExcursorError };

export interface ServerSignInsOptions {
  readonly logins: LoginStore;
  readonly onSecret: (server: string, secret: Secret) => void;
  /** Called when a user has signed in to a server. */
  readonly onDone: () => void;
}

interface SignIn {
  readonly abort: AbortController;
  state: SignInState;
  offer: (address: string) => boolean;
}

/** The sign-ins at MCP servers that run in the gateway itself, at most one for each server. */
export class ServerSignIns {
  readonly #options: ServerSignInsOptions;
  readonly #all = new Map<string, SignIn>();

  constructor(options: ServerSignInsOptions) {
    this.#options = options;
  }

  /** Starts a sign-in, in place of an earlier one. Returns its page. Throws if it fails before there is one. */
  async begin(config: ServerConfig, signal: AbortSignal): Promise<URL> {
    // Loaded on demand: the SDK behind it is large.
    const { checkSignIn, signInToServer } = await import("../../mcp/sign-in.ts");
    const server = checkSignIn(config);
    const { name } = server;
    this.cancel(name);
    const abort = new AbortController();
    const current: SignIn = { abort, state: { type: "waiting", page: undefined }, offer: () => false };
    this.#all.set(name, current);
    const { promise: shown, resolve, reject } = Promise.withResolvers<URL>();
    const { logins, onSecret, onDone } = this.#options;
    const ended = (state: SignInState | undefined) => {
      if (this.#all.get(name) !== current) return;
      if (state) current.state = state;
      else this.#all.delete(name);
    };
    signInToServer(server, {
      logins,
      environment: process.env,
      onSecret: (secret) => onSecret(name, secret),
      show: (page, offer) => {
        current.state = { type: "waiting", page };
        current.offer = offer;
        resolve(page);
      },
      signal: abort.signal,
    }).then(
      () => {
        ended(undefined);
        onDone();
        reject(new ExcursorError("mcp_no_login", `The server ${name} needs no sign-in.`));
      },
      (thrown) => {
        const error = ExcursorError.from(thrown);
        ended({ type: "failed", error });
        reject(error);
      },
    );
    return unlessAborted(shown, signal);
  }

  stateOf(server: string): SignInState | undefined {
    return this.#all.get(server)?.state;
  }

  /** Takes the address that the page led to. Returns false if it does not belong to a sign-in that waits. */
  offer(server: string, address: string): boolean {
    return this.#all.get(server)?.offer(address) ?? false;
  }

  /** Ends a sign-in. The stored login stays. */
  cancel(server: string): void {
    const current = this.#all.get(server);
    this.#all.delete(server);
    current?.abort.abort();
  }

  close(): void {
    for (const server of [...this.#all.keys()]) this.cancel(server);
  }
}
