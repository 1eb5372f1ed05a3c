import { short } from "../format.ts";

/** A number of tokens. The last request of a run corrects the estimates of those before, so it may be negative. */
export function Tokens({ count }: { readonly count: number | null }) {
  if (count === null || count >= 0) return short(count);
  return <abbr title="Corrects the estimates of earlier requests of this run">{short(count)}</abbr>;
}
