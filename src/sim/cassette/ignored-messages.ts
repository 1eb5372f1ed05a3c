import type { Meaning } from "../../replay/meaning.ts";

/** Messages that clients send at any time, or leave out. */
const IGNORED = /^(?:client_heartbeat|exec_client_control_message)(?:\.|$)/;

export const isIgnored = ({ kind }: Meaning): boolean => IGNORED.test(kind);
