import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { newFolder, npmInstall, run, tryRun } from "./support/installation.ts";
import { nodeOf } from "./support/node-version.ts";

const NODES = ["22.13.0", "24.21.0"];

/** Each installs the tarball into a folder, with a version of itself that is in npm. */
const MANAGERS: Readonly<Record<string, (folder: string, tarball: string) => void>> = {
  npm: (folder, tarball) => void npmInstall(folder, tarball),
  pnpm: (folder, tarball) => void run("npx", ["--yes", "pnpm@12.18.0", "add", tarball], folder),
  yarn: (folder, tarball) => void run("npx", ["--yes", "yarn@1.22.22", "add", "--silent", `file:${tarball}`], folder),
  "yarn 4": (folder, tarball) => {
    writeFileSync(join(folder, ".yarnrc.yml"), "nodeLinker: node-modules\nenableTelemetry: false\n");
    writeFileSync(join(folder, "yarn.lock"), "");
    run("npx", ["--yes", "@yarnpkg/cli-dist@4.18.1", "add", `excursor@file:${tarball}`], folder);
  },
};

const LIBRARY = `import { createGateway } from "excursor";
const gateway = await createGateway({ demo: true, environment: {}, home: process.argv[2] }).start();
const messages = [{ role: "user", content: [{ type: "text", text: "@sim say library" }] }];
for await (const event of gateway.run({ model: "auto", messages })) if (event.type === "text") process.stdout.write(event.text);
await gateway.stop();
`;

describe.each(Object.keys(MANAGERS))("installed by %s", (manager) => {
  it(`answers on Node ${NODES.join(" and ")}`, () => {
    const folder = newFolder();
    writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }\n');
    MANAGERS[manager]?.(folder, inject("tarball"));
    writeFileSync(join(folder, "main.js"), LIBRARY);
    const home = join(folder, "home");
    for (const version of NODES) {
      const node = nodeOf(version);
      const program = join(folder, "node_modules/excursor/bin/excursor.js");
      const answer = run(node, [program, "chat", "--demo", "@sim say hello"], folder, { EXCURSOR_HOME: home });
      expect(answer.trim(), version).toBe("hello");
      expect(run(node, ["main.js", home], folder), version).toBe("library");
    }
  });
});

it("an older Node gets one sentence, and what to do", () => {
  const folder = newFolder();
  npmInstall(folder, inject("tarball"));
  for (const version of ["20.19.0", "22.12.0"]) {
    const { status, stderr } = tryRun(nodeOf(version), ["node_modules/excursor/bin/excursor.js"], folder);
    expect(status).toBe(78);
    expect(stderr).toContain(`excursor needs Node 22.13 or newer; this is ${version}.\nInstall a newer one`);
  }
});
