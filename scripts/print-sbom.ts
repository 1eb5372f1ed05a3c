import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Prints the bill of materials of an installation, as CycloneDX. It is made of a lock file without the packages for
// development: `npm sbom --omit dev` also leaves out some that both need.
const folder = mkdtempSync(join(tmpdir(), "excursor-sbom-"));
try {
  const { devDependencies: _, ...manifest } = JSON.parse(readFileSync("package.json", "utf8"));
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  delete lock.packages[""].devDependencies;
  for (const [path, { dev, link }] of Object.entries<{ dev?: boolean; link?: boolean }>(lock.packages)) {
    if (dev || link) delete lock.packages[path];
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only"];
  process.stdout.write(execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }));
} finally {
  rmSync(folder, { recursive: true });
}
