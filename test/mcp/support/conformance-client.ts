import { createWatchdog } from "../../../src/process/watchdog.ts";
import { Connection } from "../../../src/tools/connection.ts";
import { HUB_LIMITS } from "../../../src/tools/limits.ts";

/** Our connection, as the conformance suite runs it: it is given an address, and uses every tool that it finds there. */
const connection = new Connection({
  server: {
    type: "http",
    name: "conformance",
    origin: "test",
    isDisabled: false,
    protocol: undefined,
    url: new URL(process.argv.at(-1) ?? ""),
    headers: {},
    isFixed: true,
  },
  environment: process.env,
  watchdog: createWatchdog(),
  limits: HUB_LIMITS,
  onTools: () => {},
  onTrouble: (error) => console.error(error.message),
});

const value = ({ type }: { readonly type?: string }) => (type === "number" || type === "integer" ? 5 : "text");

await connection.connect();
for (const { name, schema } of connection.tools) {
  const properties = Object.entries(
    (schema["properties"] ?? {}) as Readonly<Record<string, { readonly type?: string }>>,
  );
  const args = Object.fromEntries(properties.map(([key, property]) => [key, value(property)]));
  const result = await connection.call(name, args, {
    signal: AbortSignal.timeout(30_000),
    elicit: async () => ({ action: "accept", content: {} }),
  });
  console.error(name, JSON.stringify(result).slice(0, 200));
}
await connection.close();
