import type { FetchLike } from "@modelcontextprotocol/client";
import type { Authorization } from "./oauth/authorization.ts";
import { readRefusal } from "./oauth/refusal.ts";

/**
 * A fetch that says who asks. A refused request was not carried out: it is sent once more with what the refusal asked
 * for, a sign-in or a wider one, if that can be had; else the refusal is the answer.
 */
export function createAuthorizedFetch(base: FetchLike, authorization: Authorization): FetchLike {
  return async (url, init) => {
    const tried = new Set<string>();
    for (;;) {
      const token = await authorization.token();
      const headers = new Headers(init?.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const response = await base(url, { ...init, headers });
      const refusal = readRefusal(response);
      if (!refusal || tried.has(refusal.type) || !(await authorization.renew(refusal, token))) return response;
      tried.add(refusal.type);
      await response.body?.cancel().catch(() => {});
    }
  };
}
