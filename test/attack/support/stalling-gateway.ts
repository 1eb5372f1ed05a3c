import { setDefaultHighWaterMark } from "node:stream";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway } from "../../../src/app/open-gateway.ts";
import { STREAM_BUFFER_BYTES } from "../../../src/cli/actions/serve.ts";

setDefaultHighWaterMark(false, STREAM_BUFFER_BYTES);

// A program. It serves as the command does, and disconnects clients that read nothing for 1.5 seconds: this limit has no
// setting. It prints its address.
const { url } = await openGateway(
  loadConfig({ flags: { port: 0 }, environment: process.env, limits: { stalledReaderMs: 1500 } }),
  {
    isDemo: false,
    writeLog: (text) => process.stderr.write(text),
  },
);
process.stdout.write(`${url}\n`);
