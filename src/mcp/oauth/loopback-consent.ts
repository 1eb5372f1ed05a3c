import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { unlessAborted } from "../../core/abort-race.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Consent } from "./authorization.ts";

export interface LoopbackOptions {
  /** 0 picks a free port. */
  readonly port: number;
  readonly show: (page: URL) => void;
  readonly signal: AbortSignal;
}

export interface LoopbackConsent extends Consent {
  /**
   * Takes the redirect address from the user, if the browser is on another machine. Returns false if it does not answer
   * our request.
   */
  offer(address: string): boolean;
  close(): void;
}

const PATH = "/callback";

/**
 * Waits on loopback for the browser's redirect (RFC 8252). A request without the right state gets no information and
 * has no effect, because any page can send a browser here.
 */
export async function openLoopbackConsent({ port, show, signal }: LoopbackOptions): Promise<LoopbackConsent> {
  let expected: ((parameters: URLSearchParams) => boolean) | undefined;
  const take = (address: string): boolean => {
    const url = URL.parse(address, "http://127.0.0.1");
    return url?.pathname === PATH && expected?.(url.searchParams) === true;
  };
  const server = createServer((request, response) => {
    const isAnswer = request.method === "GET" && take(request.url ?? "");
    response.writeHead(isAnswer ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      connection: "close",
    });
    response.end(isAnswer ? "<!doctype html><title>Excursor</title><p>You can close this window.</p>\n" : "");
  });
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ExcursorError("callback_port_taken", [port, code ?? "unknown"], { cause: error });
  }
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    async ask(page, state) {
      const answer = new Promise<URLSearchParams>((resolve) => {
        expected = (parameters) => {
          const isOurs = parameters.getAll("state").length === 1 && parameters.get("state") === state;
          if (isOurs) resolve(parameters);
          return isOurs;
        };
      });
      show(page);
      const parameters = await unlessAborted(answer, signal);
      const [code, iss] = [parameters.get("code"), parameters.get("iss")];
      if (code !== null && code !== "") return { code, ...(iss !== null && { iss }) };
      // The description is free text of the server, so only the error code is shown.
      const reason = /^[a-z_]{1,40}$/.exec(parameters.get("error") ?? "")?.[0] ?? "the server returned no code";
      throw new ExcursorError("mcp_login_refused", [reason], { hint: null });
    },
    offer: take,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
