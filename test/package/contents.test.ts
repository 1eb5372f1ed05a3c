import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { newFolder, npmInstall, run, sizeInBytes, tryRun } from "./support/installation.ts";

const HERE = process.cwd();

describe("the package", () => {
  it("contains what runs and its documentation, and nothing else", () => {
    const files = run("tar", ["-tzf", inject("tarball")], HERE)
      .trim()
      .split("\n");
    const places = new Set(files.map((file) => file.replace(/^package\//, "").replace(/(?<=\/).*/, "")));
    expect([...places].sort()).toEqual(
      [
        "AGENTS.md",
        "CHANGELOG.md",
        "LICENSE",
        "LICENSES.md",
        "README.md",
        "SECURITY.md",
        "bin/",
        "dist/",
        "docs/",
        "examples/",
        "package.json",
      ].sort(),
    );
    expect(files.filter((file) => /\.(?:map|tsx?)$/.test(file) && !file.endsWith(".d.ts"))).toEqual([]);
  });

  it("can be published, and tools find no fault in its exports", () => {
    const published = tryRun("npm", ["publish", "--dry-run", "--ignore-scripts", inject("tarball")], HERE);
    expect(published.status, published.stderr).toBe(0);
    // Nobody is logged in here.
    expect(published.stderr).not.toMatch(/npm warn publish(?! This command requires you to be logged in)/);
    const folder = newFolder();
    run("tar", ["-xzf", inject("tarball"), "-C", folder], HERE);
    run("npx", ["--yes", "publint@0.3.25", "run", join(folder, "package"), "--strict"], folder);
    run(
      "npx",
      ["--yes", "@arethetypeswrong/cli@0.18.5", inject("tarball"), "--profile", "esm-only", "--no-emoji"],
      folder,
    );
  });

  it("is the library, the simulator, and under the name that OpenCode looks for its plugin", () => {
    const folder = newFolder();
    npmInstall(folder, inject("tarball"));
    const names = ["excursor", "excursor/simulator", "excursor/server"];
    const list = `for (const name of ${JSON.stringify(names)}) console.log(name, ...Object.keys(await import(name)));`;
    expect(run(process.execPath, ["--input-type=module", "--eval", list], folder).trim().split("\n")).toEqual([
      "excursor createGateway",
      "excursor/simulator createSimulator",
      "excursor/server ExcursorPlugin",
    ]);
  });

  it("has a bill of materials that names every dependency", () => {
    const sbom = JSON.parse(run("npm", ["run", "-s", "sbom"], HERE)) as {
      bomFormat: string;
      components: { name: string; version: string }[];
    };
    expect(sbom.bomFormat).toBe("CycloneDX");
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
      dependencies: Record<string, string>;
    };
    const found = sbom.components.map(({ name, version }) => `${name}@${version}`);
    expect(found).toEqual(expect.arrayContaining(Object.entries(dependencies).map((pair) => pair.join("@"))));
    expect(found.some((name) => name.startsWith("vitest@"))).toBe(false);
  });

  it("installs at most 40 packages and 70 MB", () => {
    const folder = newFolder();
    npmInstall(folder, inject("tarball"));
    const lock = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
    const packages = Object.keys(lock.packages).filter((path) => existsSync(join(folder, path)));
    expect(packages).toContain("node_modules/excursor");
    expect(packages).not.toContain("node_modules/@redis/client");
    expect(packages.length).toBeLessThanOrEqual(40);
    expect(sizeInBytes(folder) / 1e6).toBeLessThanOrEqual(70);
    console.log(`${packages.length} packages, ${(sizeInBytes(folder) / 1e6).toFixed(1)} MB`);
  });
});
