import type { Meaning } from "../../replay/meaning.ts";

/** Messages that clients send at any time, or leave out. */
const IGNORED = /^(?:client_heartbeat|exec_client_control_message)(?:\.|$)/;

export const isIgnored = ({ kind }: Meaning): boolean => IGNORED.test(kind);

/** Clients leave out the last confirmations if the end of the answer overtakes them, so a client may send more than the recorded one. */
export const isConfirmation = ({ kind }: Meaning): boolean => kind === "kv_client_message.set_blob_result";
