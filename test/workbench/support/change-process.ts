import { patchApp, restoreApp } from "../../../src/ide/change-app.ts";
import { systemHost } from "../../../src/ide/host.ts";

/** One patch or restore in a process that may be killed: `node change-process.ts patch|restore ROOT HOME`. */
const [verb, root = "", home = ""] = process.argv.slice(2);
const host = {
  ...systemHost({
    machine: { platform: process.platform, environment: {}, userHome: home },
    home,
    signal: new AbortController().signal,
    onStep: () => {},
  }),
  // A second process is not what is looked at here.
  run: async () => ({ code: 0, output: "" }),
  processes: () => [],
};
try {
  if (verb === "patch") await patchApp(host, root, { resign: false });
  else await restoreApp(host, root);
} catch {
  process.exitCode = 1;
}
