import { useCallback, useEffect, useState } from "preact/hooks";
import { connection } from "../feed.ts";
import { get } from "../session.ts";

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  /** Loads it again, and shows the old value meanwhile. */
  reload(): void;
}

/** Loads again every so many milliseconds. Undefined: never. */
export function useReloads(reload: () => void, everyMs: number | undefined): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(reload, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);
}

/** Loads a reply of the API, again when the path changes, and after a failure when a lost connection is back. */
export function useLoaded<T>(path: string): Loaded<T> {
  const [state, setState] = useState<{ readonly value?: T; readonly error?: unknown }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    get<T>(path).then(
      (value) => isCurrent && setState({ value }),
      (error) => isCurrent && setState({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [path, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isLive = connection.value === "live";
  useEffect(() => {
    if (isLive && state.error !== undefined) reload();
  }, [isLive]);
  return { value: state.value, error: state.error, reload };
}
