import { onTestFinished } from "vitest";
import type { Driver } from "../../../src/core/driver.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import { IGNORED } from "../../../src/core/notices/ignored.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { Turn } from "../../../src/core/turn.ts";
import type { ApiDriverOptions } from "../../../src/drivers/shared/api/api-driver.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import { aTurn, gather } from "../../core/support/turns.ts";

export function driverOptions(baseURL: string, key = "sk-test"): ApiDriverOptions {
  const transport = createHttp1Transport();
  onTestFinished(() => transport.destroy());
  return {
    transport,
    baseURL,
    key: new Secret(key),
    names: { toUpstream: (name) => name, toClient: (name) => name },
  };
}

export const LOOK = { name: "look", description: "looks", schema: { type: "object", properties: {} } };

export const openRun = (driver: Driver, over: Partial<Turn> = {}) => driver.open(aTurn(over), { requestId: "r1" });

export const ask = (driver: Driver, over: Partial<Turn> = {}): Promise<TurnEvent[]> => gather(openRun(driver, over));

/** What took its time is not compared. */
export const timeless = (events: readonly TurnEvent[]): TurnEvent[] =>
  events.map((event) => (event.type === "thinking-done" ? { ...event, durationMs: 0 } : event));

/** What of the turn the upstream could not be told. */
export const ignoredIn = (events: readonly TurnEvent[]): string[] =>
  events.flatMap((event) => (event.type === "notice" && event.code === IGNORED ? [event.text] : []));

export async function failureOf(answer: Promise<unknown>): Promise<ExcursorError> {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ExcursorError) return error;
    throw error;
  }
  throw new Error("nothing failed");
}
