/** The file is not a database, or not one of ours. */
export class Damaged extends Error {}

/** Our statements are valid, so an SQL error means that the schema is not ours. */
const SQLITE_ERROR = 1;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

const sqliteCode = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) & 0xff;

export function isCorrupt(error: unknown): boolean {
  return error instanceof Damaged || [SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB].includes(sqliteCode(error));
}

const SQLITE_BUSY = 5;

export const isBusy = (error: unknown): boolean => sqliteCode(error) === SQLITE_BUSY;

const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;

/** What was to be written has another form than the table. */
export const isDamage = (error: unknown): boolean =>
  error instanceof TypeError || [SQLITE_CONSTRAINT, SQLITE_MISMATCH].includes(sqliteCode(error));
