import { fileURLToPath } from "node:url";

/** Returns the path of a committed capture. */
export const cassetteFile = (name: string): string => fileURLToPath(new URL(`../${name}.capture`, import.meta.url));

/** True if the captures are to be made anew. */
export const isRecording = process.env["RECORD_CASSETTES"] === "1";
