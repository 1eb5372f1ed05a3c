import type { LimitRow } from "../../src/dashboard/messages.ts";
import { dollars, NONE, short } from "../format.ts";
import { Bar } from "./bar.tsx";

/** The limits of a key, each with a bar of what is used. */
export function LimitBars({ limits }: { readonly limits: readonly LimitRow[] }) {
  if (limits.length === 0) return <span class="muted">{NONE}</span>;
  return (
    <ul class="limits">
      {limits.map(({ limit, unit, amount, used }) => (
        <li key={limit}>
          <span class="mono">{limit}</span>
          {used !== null && (
            <>
              <Bar share={used / amount} label={`Used of ${limit}`} />
              <span class="muted">{unit === "tokens" ? short(used) : dollars(used)} used</span>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
