import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { INDEX, loadUiFiles } from "../../src/dashboard/ui-files.ts";

it("a checkout bundles the page once, and again when its sources have changed", async () => {
  const root = mkdtempSync(join(tmpdir(), "excursor-checkout-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, "scripts"));
  cpSync("scripts/build-ui.ts", join(root, "scripts", "build-ui.ts"));
  cpSync("ui", join(root, "ui"), { recursive: true });
  for (const name of ["package.json", "tsconfig.json"]) cpSync(name, join(root, name));
  for (const name of ["node_modules", "src"]) symlinkSync(join(process.cwd(), name), join(root, name));
  const builtAt = () => statSync(join(root, "dist", "ui", INDEX)).mtimeMs;
  let builds = 0;
  const load = () => loadUiFiles(() => builds++, root);
  const files = await load();
  expect([...files.keys()].toSorted()).toEqual(["assets/app.js", "assets/index.css", "icon.svg", INDEX]);
  const first = builtAt();
  await load();
  expect([builds, builtAt()]).toEqual([1, first]);
  const later = new Date(first + 1000);
  utimesSync(join(root, "ui", "app.tsx"), later, later);
  await load();
  expect(builds).toBe(2);
  expect(builtAt()).toBeGreaterThan(first);
}, 120_000);
