import { randomBytes } from "node:crypto";
import type { TurnEvent } from "../../events.ts";

const FORM = /^(sess_[\w-]{22})__call_\d+$/;

/** Returns the id of the run that made a tool call; undefined if the call id is not one of ours. */
export const runIdOf = (callId: string): string | undefined => FORM.exec(callId)?.[1];

/** Returns the call id that clients see. */
export const callIdOf = (runId: string, index: number): string => `${runId}__call_${index}`;

/** The prefix is part of what clients store; it must not change. */
export const newRunId = (): string => `sess_${randomBytes(16).toString("base64url")}`;

/**
 * Maps the tool call ids of one run between the driver's and the client's. A client sees `sess_<random>__call_<n>`, so
 * that a result leads back to its run, and a client cannot guess the call ids of another.
 *
 * The run id and the maps are made on first use: most runs call no tool, and random bytes are not free.
 */
export class CallNames {
  #runId: string | undefined;
  #maps: { readonly toClient: Map<string, string>; readonly toDriver: Map<string, string> } | undefined;

  get runId(): string {
    this.#runId ??= newRunId();
    return this.#runId;
  }

  /** Returns the client's id of a call; a call that is new gets one. */
  toClient(driverId: string): string {
    this.#maps ??= { toClient: new Map(), toDriver: new Map() };
    const { toClient, toDriver } = this.#maps;
    const known = toClient.get(driverId);
    if (known !== undefined) return known;
    const clientId = callIdOf(this.runId, toClient.size);
    toClient.set(driverId, clientId);
    toDriver.set(clientId, driverId);
    return clientId;
  }

  /** Returns the driver's id of a call; an unknown id is returned as it is. */
  toDriver(clientId: string): string {
    return this.#maps?.toDriver.get(clientId) ?? clientId;
  }

  /** Returns the events with the client's call ids. A batch without calls is returned as it is. */
  rename(events: readonly TurnEvent[]): readonly TurnEvent[] {
    if (!events.some(isCall)) return events;
    return events.map((event) => (isCall(event) ? { ...event, id: this.toClient(event.id) } : event));
  }
}

type CallEvent = Extract<TurnEvent, { readonly id: string }>;

const isCall = (event: TurnEvent): event is CallEvent => "id" in event;
