import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createGenerator } from "ts-json-schema-generator";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** By the name of the type in `wire-types.ts`. */
    readonly schemas: Readonly<Record<string, object>>;
  }
}

const TYPES = fileURLToPath(new URL("wire-types.ts", import.meta.url));

/** Makes a schema of each official type as it is installed, so none can be out of date. In no worker: it adds globals. */
export function setup({ provide }: TestProject): void {
  const generator = createGenerator({
    path: TYPES,
    tsconfig: fileURLToPath(new URL("../../tsconfig.json", import.meta.url)),
    additionalProperties: false,
    skipTypeCheck: true,
    jsDoc: "none",
  });
  const names = [...readFileSync(TYPES, "utf8").matchAll(/^export type (\w+)/gm)].map(([, name = ""]) => name);
  provide("schemas", Object.fromEntries(names.map((name) => [name, generator.createSchema(name)])));
}
