import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./transaction.ts";

/** The schema of a database file, and its version, which the file has as its `user_version`. */
export interface VersionedSchema {
  readonly version: number;
  readonly sql: string;
}

export class OtherVersion extends Error {
  readonly version: number;

  constructor(version: number) {
    super(`version ${version}`);
    this.version = version;
  }
}

/** Returns 0 for a file without a schema. */
export const versionOf = (connection: DatabaseSync): number =>
  Number(connection.prepare("PRAGMA user_version").get()?.["user_version"]);

/** Creates the schema in a new file. Throws {@link OtherVersion} if the file has another one. */
export function requireSchema(connection: DatabaseSync, { version, sql }: VersionedSchema): void {
  if (versionOf(connection) === version) return;
  inTransaction(connection, "BEGIN IMMEDIATE", () => {
    // Another process may have created it meanwhile.
    const found = versionOf(connection);
    if (found === version) return;
    if (found !== 0) throw new OtherVersion(found);
    connection.exec(sql);
    connection.exec(`PRAGMA user_version = ${version}`);
  });
}
