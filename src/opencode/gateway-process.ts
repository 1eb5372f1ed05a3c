import { randomBytes } from "node:crypto";
import { type Environment, firstLine, spawnExcursor } from "./run-excursor.ts";

interface Running {
  readonly url: string;
  readonly key: string;
  /** Whether a Cursor account is signed in. Other upstreams may work without one. */
  readonly isSignedIn: boolean;
  stop(): void;
}

/** Placeholder origin, replaced by the gateway's real one. */
const ORIGIN = "http://excursor.invalid";

/**
 * A gateway of our own, with a private key. It is started on the first request, and again if it has ended. It ends with
 * this process, however that ends.
 */
export class GatewayProcess {
  readonly baseUrl = `${ORIGIN}/v1`;
  readonly #environment: Environment;
  #running: Promise<Running> | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  owns(address: unknown): boolean {
    return typeof address === "string" && URL.canParse(address) && new URL(address).origin === ORIGIN;
  }

  /** `fetch` that adds the key to requests below {@link baseUrl}. Passes all others on unchanged. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const given = input instanceof Request ? input : undefined;
    const address = given?.url ?? String(input);
    if (!this.owns(address)) return fetch(input, init);
    const { url, key } = await this.#start();
    const headers = new Headers(init.headers ?? given?.headers);
    headers.set("authorization", `Bearer ${key}`);
    const target = url + address.slice(ORIGIN.length);
    return fetch(given ? new Request(target, given) : target, { ...init, headers });
  };

  /** Starts the gateway if necessary. Rejects with the reason if it cannot start. */
  async isSignedIn(): Promise<boolean> {
    return (await this.#start()).isSignedIn;
  }

  async stop(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    this.#running = undefined;
    running?.stop();
  }

  #start(): Promise<Running> {
    if (this.#running) return this.#running;
    const starting = this.#spawn(() => {
      if (this.#running === starting) this.#running = undefined;
    });
    this.#running = starting;
    return starting;
  }

  async #spawn(onEnded: () => void): Promise<Running> {
    const key = `exc_${randomBytes(32).toString("base64url")}`;
    const args = ["serve", "--port", "0", "--host", "127.0.0.1", "--json", "--until-stdin-ends"];
    const gateway = spawnExcursor(args, { ...this.#environment, EXCURSOR_KEY: key });
    void gateway.ended.then(onEnded);
    const { url, signedIn } = JSON.parse(await firstLine(gateway)) as Ready;
    return { url, key, isSignedIn: signedIn, stop: () => void gateway.child.stdin.end() };
  }
}

/** The line that `excursor serve --json` prints. */
interface Ready {
  readonly url: string;
  readonly signedIn: boolean;
}
