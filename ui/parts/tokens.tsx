import { short } from "../format.ts";

/** A number of tokens. The last request of a run corrects the estimates of those before, so it may be negative. */
export const Tokens = ({ count }: { readonly count: number | null }) =>
  count !== null && count < 0 ? (
    <abbr title="Corrects the estimates of earlier requests of this run">{short(count)}</abbr>
  ) : (
    <>{short(count)}</>
  );
