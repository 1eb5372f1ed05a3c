import type { StateDatabase } from "./state-database.ts";

/** Small values that outlive the process. Each user of the store has its own namespace. */
export interface KeyValueStore {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
  delete(key: string): void;
  /** Deletes every entry whose value sorts before this one. */
  deleteBefore(value: string): void;
}

export function createKeyValueStore(database: StateDatabase, space: string): KeyValueStore {
  const { connection } = database;
  const get = connection.prepare("SELECT value FROM kv WHERE space = ? AND key = ?");
  const set = connection.prepare(
    "INSERT INTO kv VALUES (?, ?, ?) ON CONFLICT (space, key) DO UPDATE SET value = excluded.value",
  );
  const remove = connection.prepare("DELETE FROM kv WHERE space = ? AND key = ?");
  const removeBefore = connection.prepare("DELETE FROM kv WHERE space = ? AND value < ?");
  return {
    get: (key) => database.read(() => get.get(space, key)?.["value"] as string | undefined, undefined),
    set: (key, value) => database.write(() => void set.run(space, key, value), undefined),
    delete: (key) => database.write(() => void remove.run(space, key), undefined),
    deleteBefore: (value) => database.write(() => void removeBefore.run(space, value), undefined),
  };
}
