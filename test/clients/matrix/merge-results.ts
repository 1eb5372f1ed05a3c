import type { ClientId, Proof } from "./proof.ts";
import { compareResults, type Result } from "./results.ts";

/** What became of one test, and what it would prove. */
export interface TestOutcome {
  /** Other states than these two mean that it did not run. */
  readonly state: "passed" | "failed" | (string & {});
  readonly proofs: readonly Proof[];
}

const cellOf = ({ client, dialect, feature }: Pick<Result, "client" | "dialect" | "feature">): string =>
  [client, dialect, feature].join(" ");

/**
 * Returns the results with those of a file that has run. Its older results are replaced, except those of tests that did
 * not run this time. One failing test makes a result fail.
 */
export function mergeResults(
  known: readonly Result[],
  file: string,
  outcomes: readonly TestOutcome[],
): { readonly results: Result[]; readonly ran: ReadonlySet<ClientId> } {
  const found = new Map<string, Result>();
  for (const { state, proofs } of outcomes) {
    if (!hasRun(state)) continue;
    for (const { client, dialect, features } of proofs) {
      for (const feature of features) {
        const result = { client, dialect, feature, outcome: "proven", file } as const;
        const isFailed = state === "failed" || found.get(cellOf(result))?.outcome === "fails";
        found.set(cellOf(result), isFailed ? { ...result, outcome: "fails" } : result);
      }
    }
  }
  const isComplete = outcomes.every(({ state }) => hasRun(state));
  const isReplaced = (old: Result) => old.file === file && (isComplete || found.has(cellOf(old)));
  const results = [...known.filter((old) => !isReplaced(old)), ...found.values()].sort(compareResults);
  return { results, ran: new Set([...found.values()].map(({ client }) => client)) };
}

const hasRun = (state: string): boolean => state === "passed" || state === "failed";
