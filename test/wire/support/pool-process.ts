/** A process that opens one run and closes nothing: whether it exits shows what a pool keeps alive. */
import { BidiRun } from "../../../src/wire/connect/bidi-run.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";

const [, , origin = ""] = process.argv;
const listener = { message: () => {}, done: () => {} };
new BidiRun({ transport: createConnectionPool(), origin, headers: {}, listener }).send(new Uint8Array(1));
