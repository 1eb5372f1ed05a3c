import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The package as `npm publish` would send it. */
    tarball: string;
  }
}

/** Builds and packs the package once. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "excursor-pack-"));
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], { encoding: "utf8" });
  const [packed] = JSON.parse(output.slice(output.indexOf("["))) as [{ readonly filename: string }];
  project.provide("tarball", join(folder, packed.filename));
  return () => rmSync(folder, { recursive: true });
}
