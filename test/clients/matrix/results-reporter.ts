import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";
import { mergeResults } from "./merge-results.ts";
import { CLIENTS, type ClientId } from "./proof.ts";
import { RESULTS_FILE, type Results, resultsSchema } from "./results.ts";

/** Writes what the tests proved into results.json. Results of files that did not run stay. */
export class ResultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const known = existsSync(RESULTS_FILE)
      ? resultsSchema.parse(JSON.parse(readFileSync(RESULTS_FILE, "utf8")))
      : { clients: {}, results: [] };
    const updated = modules.reduce(withModule, known);
    writeFileSync(RESULTS_FILE, textOf(updated));
  }
}

/** One line a result, so that changes are easily read. */
function textOf({ clients, results }: Results): string {
  const lines = results.map((result) => `    ${JSON.stringify(result)}`);
  const versions = Object.entries(clients).map(([id, entry]) => `    ${JSON.stringify(id)}: ${JSON.stringify(entry)}`);
  return `{\n  "clients": {\n${versions.join(",\n")}\n  },\n  "results": [\n${lines.join(",\n")}\n  ]\n}\n`;
}

function withModule(known: Results, module: TestModule): Results {
  const outcomes = [...module.children.allTests()].map((test) => ({
    state: test.result().state,
    proofs: test.meta().proofs ?? [],
  }));
  const { results, ran } = mergeResults(known.results, module.relativeModuleId, outcomes);
  const date = new Date().toISOString().slice(0, 10);
  const clients = Object.fromEntries(
    (Object.keys(CLIENTS) as ClientId[]).flatMap((id) => {
      const entry = ran.has(id) ? { version: installedVersion(id), date } : known.clients[id];
      return entry ? [[id, entry]] : [];
    }),
  );
  return { clients, results };
}

function installedVersion(id: ClientId): string {
  const client = CLIENTS[id];
  if (!("package" in client)) throw new Error(`${id} has no package, so no test can have run it.`);
  const manifest = ["node_modules", `${CLIENTS_FOLDER}/node_modules`]
    .map((folder) => `${folder}/${client.package}/package.json`)
    .find(existsSync);
  if (manifest === undefined) throw new Error(`${client.package} is not installed.`);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version;
}
