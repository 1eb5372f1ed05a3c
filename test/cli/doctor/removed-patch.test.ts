import { rmSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../src/app/load-config.ts";
import { machineChecks } from "../../../src/cli/doctor/machine-checks.ts";
import { patchApp } from "../../../src/ide/change-app.ts";
import { fillApp, hostOf, makeApp } from "../../ide/support/app-tree.ts";

it("excursor doctor, and so the dashboard, says that an update of Cursor has removed the patch", async () => {
  const tree = makeApp();
  onTestFinished(() => rmSync(tree.folder, { recursive: true }));
  const look = () =>
    machineChecks(loadConfig({ flags: {}, environment: { EXCURSOR_HOME: tree.home } }))
      .find(({ id }) => id === "ide-patch")
      ?.look();
  expect(await look()).toBeUndefined();
  await patchApp(hostOf(tree), tree.root, { resign: false });
  expect(await look()).toMatchObject({ status: "ok" });
  fillApp(tree.root, { version: "3.22.5" });
  expect(await look()).toMatchObject({
    status: "warn",
    text: expect.stringContaining("3.22.5"),
    fix: "Run: excursor ide patch",
  });
});
