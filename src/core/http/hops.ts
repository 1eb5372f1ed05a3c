import { randomBytes } from "node:crypto";

/** Lists the gateways that a request has passed, so that a loop can be detected and refused (SEC-35). */
export const HOP_HEADER = "x-excursor-hop";

const MAX_HOPS = 8;

/** Random for each process, so that nobody can forge a request that seems to have passed this gateway. */
export const newHopId = (): string => randomBytes(12).toString("base64url");

export const readHops = (header: string | undefined): readonly string[] =>
  header === undefined || header === "" ? [] : header.split(",", MAX_HOPS).map((id) => id.trim());

export const writeHops = (hops: readonly string[], own: string): string => [...hops, own].join(", ");

export const isLoop = (hops: readonly string[], own: string): boolean => hops.includes(own) || hops.length >= MAX_HOPS;
