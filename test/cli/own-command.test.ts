import { expect, it } from "vitest";
import { ownCommand } from "../../src/cli/own-command.ts";

it.each([
  ["installed", {}, "excursor"],
  ["in a checkout", { npm_lifecycle_event: "start", npm_package_name: "excursor" }, "npm run -s excursor --"],
  ["by npx", { npm_lifecycle_event: "npx" }, "npx excursor"],
  ["by npx in a checkout", { npm_lifecycle_event: "npx", npm_package_name: "excursor" }, "npx excursor"],
  ["in a script of another project", { npm_lifecycle_event: "dev", npm_package_name: "shop" }, "npx excursor"],
])("the command that messages name: %s", (_, environment, command) => {
  expect(ownCommand(environment)).toBe(command);
});
