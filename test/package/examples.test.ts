import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { newFolder, npmInstall, run } from "./support/installation.ts";

function installExample(name: string): string {
  const folder = newFolder();
  cpSync(join("examples", name), folder, { recursive: true });
  npmInstall(folder, inject("tarball"));
  return folder;
}

it("the example with OpenAI's SDK prints an answer", () => {
  const folder = installExample("openai-sdk");
  expect(run(process.execPath, ["main.js"], folder, { EXCURSOR_HOME: join(folder, "home") })).toBe("hello");
});

it("the example of a test suite passes, and fails if the code under test is wrong", () => {
  const folder = installExample("vitest-suite");
  run("npm", ["test"], folder);
  rmSync(join(folder, "ask-with-tools.js"));
  writeFileSync(join(folder, "ask-with-tools.js"), 'export const askWithTools = async () => "wrong";');
  expect(() => run("npm", ["test"], folder)).toThrow(/In Oslo/);
});

it("the types of both entries hold in a strict project", () => {
  const folder = newFolder();
  npmInstall(folder, inject("tarball"), "typescript@7.0.2", "@types/node@24.19.2");
  writeFileSync(
    join(folder, "main.mts"),
    `import { createGateway, type TurnEvent } from "excursor";
import { createSimulator } from "excursor/simulator";
const gateway = await createGateway({ demo: true }).start();
const events: AsyncIterable<TurnEvent> = gateway.run({ model: "auto", messages: [] });
const url: string = createSimulator({ script: "@sim say x" }).url;
// @ts-expect-error There is no such option.
createGateway({ demmo: true });
export { events, url };
`,
  );
  run(
    join(folder, "node_modules/.bin/tsc"),
    ["--strict", "--noEmit", "--module", "nodenext", "--types", "node", "main.mts"],
    folder,
  );
});
