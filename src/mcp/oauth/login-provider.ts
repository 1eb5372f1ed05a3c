import { randomBytes } from "node:crypto";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { OAuthSettings } from "./oauth-settings.ts";
import type { ServerLogin } from "./server-login.ts";

export interface LoginProviderOptions {
  readonly settings: OAuthSettings;
  readonly login: ServerLogin;
  /** The OAuth redirect URL. Undefined: there is no browser. */
  readonly redirectUrl: string | undefined;
}

/** Placeholder where no browser is used: without a redirect URL the SDK assumes the `client_credentials` grant. */
const NOWHERE = "http://127.0.0.1/callback";

/** One sign-in or renewal, in the form of the SDK. Works on a copy; the caller stores the result. */
export class LoginProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  /** Absent if we must not register: there is no browser, or the client was registered by hand. */
  readonly saveClientInformation?: (client: StoredOAuthClientInformation) => void;
  /** The state parameter, which proves that the browser's answer belongs to our request. */
  readonly expectedState = randomBytes(32).toString("base64url");
  readonly #settings: OAuthSettings;
  #login: ServerLogin;
  #verifier = "";
  #page: URL | undefined;

  constructor({ settings, login, redirectUrl }: LoginProviderOptions) {
    this.#settings = settings;
    this.#login = login;
    this.redirectUrl = redirectUrl ?? NOWHERE;
    this.clientMetadata = {
      client_name: "Excursor",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      ...(settings.scope !== undefined && { scope: settings.scope }),
    };
    if (settings.clientMetadataUrl !== undefined) this.clientMetadataUrl = settings.clientMetadataUrl;
    if (settings.clientId === undefined && redirectUrl !== undefined) {
      this.saveClientInformation = (client) => this.#change({ client });
    }
  }

  /** The current state of the login. */
  get login(): ServerLogin {
    return this.#login;
  }

  /** The page that the user has to open. */
  get page(): URL | undefined {
    return this.#page;
  }

  state(): string {
    return this.expectedState;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    const { clientId, clientSecret, issuer } = this.#settings;
    if (clientId === undefined) return this.#login.client;
    return {
      client_id: clientId,
      ...(clientSecret && { client_secret: clientSecret.reveal() }),
      ...(issuer !== undefined && { issuer }),
    };
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#login.tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#change({ tokens, wantedScope: undefined });
  }

  redirectToAuthorization(page: URL): void {
    this.#page = page;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#change({ discovery });
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#login.discovery;
  }

  invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (what === "all" || what === "tokens") this.#change({ tokens: undefined });
    if (what === "all" || what === "client") this.#change({ client: undefined });
    if (what === "all" || what === "discovery") this.#change({ discovery: undefined });
  }

  #change(login: ServerLogin): void {
    this.#login = { ...this.#login, ...login };
  }
}
