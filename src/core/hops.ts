import { randomBytes } from "node:crypto";

/** Names the gateways that a request has passed, so that one that comes back to us can be refused (SEC-35). */
export const HOP_HEADER = "x-excursor-hop";

/** More gateways in a row than anybody would put there. */
const MAX_HOPS = 8;

/** Of one process, and random: nobody outside can make up a request that seems to have passed us. */
export const newHopId = (): string => randomBytes(12).toString("base64url");

export const readHops = (header: string | undefined): readonly string[] =>
  header === undefined || header === "" ? [] : header.split(",", MAX_HOPS).map((id) => id.trim());

export const writeHops = (hops: readonly string[], own: string): string => [...hops, own].join(", ");

export const isLoop = (hops: readonly string[], own: string): boolean => hops.includes(own) || hops.length >= MAX_HOPS;
