import type { PhaseName } from "../../src/usage/record/records.ts";
import { span } from "../format.ts";

/** In the order in which they happen. A parked run has waited before the request that brings its results. */
const PHASES: readonly { readonly phase: PhaseName; readonly title: string; readonly kind: string }[] = [
  { phase: "park", title: "parked", kind: "park" },
  { phase: "gate", title: "gate", kind: "" },
  { phase: "parse", title: "parse", kind: "" },
  { phase: "credential", title: "credential", kind: "" },
  { phase: "checkpoint", title: "checkpoint", kind: "" },
  { phase: "open", title: "open", kind: "" },
  { phase: "first-frame", title: "first frame", kind: "wait" },
  { phase: "model", title: "model", kind: "" },
  { phase: "tools", title: "hub tools", kind: "tools" },
];

/** The phases of one turn, each where it begins and as long as it took. */
export function Waterfall({ phases }: { readonly phases: Readonly<Partial<Record<PhaseName, number>>> }) {
  const reached = PHASES.filter(({ phase }) => phases[phase] !== undefined);
  const total = reached.reduce((sum, { phase }) => sum + (phases[phase] ?? 0), 0) || 1;
  let start = 0;
  return (
    <div class="waterfall">
      {reached.map(({ phase, title, kind }) => {
        const ms = phases[phase] ?? 0;
        const left = (start / total) * 100;
        start += ms;
        return [
          <span key={`${phase} name`} class="muted">
            {title}
          </span>,
          <span key={`${phase} bar`} class="track">
            <i
              class={`fill ${kind}`}
              data-phase={phase}
              style={{ marginLeft: `min(${left}%, calc(100% - 2px))`, width: `${(ms / total) * 100}%` }}
            />
          </span>,
          <span key={`${phase} time`} class="number">
            {span(ms)}
          </span>,
        ];
      })}
    </div>
  );
}
