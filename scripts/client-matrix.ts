import { readFileSync } from "node:fs";
import {
  CLIENTS,
  type ClientId,
  DIALECTS,
  type Dialect,
  FEATURES,
  type Feature,
} from "../test/clients/matrix/proof.ts";
import { RESULTS_FILE, type Results, resultsSchema } from "../test/clients/matrix/results.ts";

interface Matrix {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The clients that were not run. */
  readonly untried: readonly string[];
}

/** Reads the results of `npm run test:clients`. */
export const readResults = (): Results => resultsSchema.parse(JSON.parse(readFileSync(RESULTS_FILE, "utf8")));

/** Returns the matrix of clients, APIs and features. */
export function clientMatrix(results: Results): Matrix {
  const ids = Object.keys(CLIENTS) as ClientId[];
  return {
    head: ["client", "API", ...Object.values(FEATURES), "tested"],
    rows: ids.flatMap((id) => {
      const run = results.clients[id];
      if (!run) return [];
      return CLIENTS[id].dialects.map((dialect) => [
        CLIENTS[id].title,
        DIALECTS[dialect],
        ...(Object.keys(FEATURES) as Feature[]).map((feature) => cell(results, id, dialect, feature)),
        `${run.version}, ${run.date}`,
      ]);
    }),
    untried: ids.filter((id) => !results.clients[id]).map((id) => CLIENTS[id].title),
  };
}

function cell({ results }: Results, id: ClientId, dialect: Dialect, feature: Feature): string {
  const client = CLIENTS[id];
  const found = results.filter((one) => one.client === id && one.dialect === dialect && one.feature === feature);
  if (found.some(({ outcome }) => outcome === "fails")) return "fails";
  if (found.length > 0) return "✓";
  const lacks: readonly Feature[] = "lacks" in client ? client.lacks : [];
  return lacks.includes(feature) ? "–" : "";
}
