import { randomBytes } from "node:crypto";
import { type Environment, firstLine, spawnExcursor } from "./run-excursor.ts";

interface Running {
  readonly url: string;
  readonly key: string;
  stop(): void;
}

/** Stands for the gateway, wherever it will be. */
const ANYWHERE = "http://excursor.invalid";

/**
 * A gateway of our own: started when something is asked of it, started again if it is gone, with a key that nobody else
 * has. It ends with us, however we end.
 */
export class GatewayProcess {
  readonly baseUrl = `${ANYWHERE}/v1`;
  readonly #environment: Environment;
  #running: Promise<Running> | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** `fetch`, for addresses below {@link baseUrl}. */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { url, key } = await this.#start();
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${key}`);
    const address = input instanceof Request ? input.url : String(input);
    return fetch(address.replace(ANYWHERE, url), { ...init, headers });
  };

  async stop(): Promise<void> {
    const running = await this.#running?.catch(() => undefined);
    running?.stop();
  }

  #start(): Promise<Running> {
    this.#running ??= this.#spawn();
    return this.#running;
  }

  async #spawn(): Promise<Running> {
    const key = `exc_${randomBytes(32).toString("base64url")}`;
    const args = ["serve", "--port", "0", "--host", "127.0.0.1", "--json", "--until-stdin-ends"];
    const child = spawnExcursor(args, { ...this.#environment, EXCURSOR_KEY: key });
    const forget = () => {
      this.#running = undefined;
    };
    child.once("error", forget).once("exit", forget);
    const { url } = JSON.parse(await firstLine(child)) as { readonly url: string };
    return { url, key, stop: () => void child.stdin.end() };
  }
}
