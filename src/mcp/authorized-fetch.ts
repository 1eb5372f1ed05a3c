import type { FetchLike } from "@modelcontextprotocol/client";
import type { Authorization } from "./oauth/authorization.ts";
import { readRefusal } from "./oauth/refusal.ts";

/** A renewal, a sign-in, a wider one. */
const MAX_TRIES = 3;

/**
 * A fetch that says who asks. A refused request was not carried out: it is sent again with what the refusal asked for, a
 * sign-in or a wider one, if that can be had; else the refusal is the answer.
 */
export function createAuthorizedFetch(base: FetchLike, authorization: Authorization): FetchLike {
  return async (url, init) => {
    const tried: string[] = [];
    for (;;) {
      const token = await authorization.token();
      const headers = new Headers(init?.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const response = await base(url, { ...init, headers });
      const refusal = readRefusal(response);
      if (!refusal || tried.length === MAX_TRIES) return response;
      const isAgain = tried.includes(refusal.type);
      if (!(await authorization.renew(refusal, token, isAgain))) return response;
      tried.push(refusal.type);
      await response.body?.cancel().catch(() => {});
    }
  };
}
