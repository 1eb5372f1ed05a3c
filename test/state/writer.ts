import { createCheckpointStore } from "../../src/state/checkpoint-store.ts";
import { openStateDatabase } from "../../src/state/state-database.ts";
import { checkpoint } from "./support.ts";

/**
 * A process of its own that puts checkpoints and says so, for as long as it is let: `node writer.ts FILE NAME COUNT`.
 */
const [file = "", name = "", count = "0"] = process.argv.slice(2);
const fail = ({ text }: { readonly text: string }) => process.stdout.write(`notice ${text}\n`);
const store = createCheckpointStore(await openStateDatabase(file, { onNotice: fail }));
for (let index = 0; index < Number(count); index++) {
  store.put(name, `history-${index}`, checkpoint(name, `state-${index}`, `blob-${index}`, "shared"));
  process.stdout.write(`${index}\n`);
  // Lets a signal and the pipe have their turn.
  if (index % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
}
