import { readFileSync } from "node:fs";

/** Which version of Excursor this is. */
export function version(): string {
  const manifest: { version: string } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return manifest.version;
}
