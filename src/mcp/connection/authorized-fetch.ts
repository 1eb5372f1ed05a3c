import type { FetchLike } from "@modelcontextprotocol/client";
import { unlessGone } from "../../core/ignored-failures.ts";
import type { Authorization } from "../oauth/authorization.ts";
import { readRefusal } from "../oauth/refusal.ts";

/** One renewal, one sign-in, one sign-in with a wider scope. */
const MAX_TRIES = 3;

/**
 * Creates a fetch that adds the access token. A refused request was not carried out, so it is sent again after a
 * renewal or a sign-in, if that is possible. Otherwise the refusal is returned.
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
      await unlessGone(response.body?.cancel());
    }
  };
}
