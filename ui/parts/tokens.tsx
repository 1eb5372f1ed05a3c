import { short } from "../format.ts";

/** A number of tokens. The last request of a run corrects the estimates of those before, so it may be negative. */
export const Tokens = ({ count }: { readonly count: number | null }) => (
  <span title={count !== null && count < 0 ? "Corrects the estimates of earlier requests of this run" : undefined}>
    {short(count)}
  </span>
);
