import { z } from "zod";
import { CLIENTS, type ClientId, DIALECTS, type Dialect, FEATURES, type Feature } from "./proof.ts";

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>) => Object.keys(table) as [Key, ...Key[]];

const resultSchema = z.strictObject({
  client: z.enum(keysOf<ClientId>(CLIENTS)),
  dialect: z.enum(keysOf<Dialect>(DIALECTS)),
  feature: z.enum(keysOf<Feature>(FEATURES)),
  outcome: z.enum(["proven", "fails"]),
  /** The file of the tests. */
  file: z.string(),
});

export type Result = Readonly<z.infer<typeof resultSchema>>;

/** What results.json holds: the outcomes of `npm run test:clients`, and which versions were run when. */
export const resultsSchema = z.strictObject({
  clients: z.partialRecord(
    z.enum(keysOf<ClientId>(CLIENTS)),
    z.strictObject({ version: z.string(), date: z.iso.date() }),
  ),
  results: z.array(resultSchema),
});

export type Results = z.infer<typeof resultsSchema>;

export const RESULTS_FILE = "test/clients/matrix/results.json";

const order = (table: object, key: string): number => Object.keys(table).indexOf(key);

/** Compares results by client, dialect, feature and file, in the order of the matrix. */
export const compareResults = (a: Result, b: Result): number =>
  order(CLIENTS, a.client) - order(CLIENTS, b.client) ||
  order(DIALECTS, a.dialect) - order(DIALECTS, b.dialect) ||
  order(FEATURES, a.feature) - order(FEATURES, b.feature) ||
  a.file.localeCompare(b.file);
