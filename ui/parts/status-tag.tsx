/** The outcome of a request. */
export function StatusTag({ status, error }: { readonly status: number; readonly error: string | null }) {
  const kind = status < 400 ? "ok" : status === 499 ? "warn" : "bad";
  return (
    <span class={`tag ${kind}`} title={error ?? undefined}>
      {status === 499 ? "left" : status}
    </span>
  );
}

const RUNS = {
  fresh: ["", "A new run"],
  resumed: ["accent", "The parked run went on, on the same stream"],
  replayed: ["warn", "A new run got the conversation from the client's transcript"],
} as const;

/** How a request got its run. */
export function RunTag({ run, reason }: { readonly run: keyof typeof RUNS | null; readonly reason?: string | null }) {
  if (run === null) return null;
  const [kind, title] = RUNS[run];
  return (
    <span class={`tag ${kind}`} title={title}>
      {run}
      {reason ? `: ${reason}` : ""}
    </span>
  );
}
