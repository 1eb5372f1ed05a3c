import { join } from "node:path";
import { runningCaptures } from "../../app/capture/running-captures.ts";
import type { LoadedConfig } from "../../app/load-config.ts";
import { openHome } from "../../config/home.ts";
import { keyOf } from "../../config/key-file.ts";
import { keysPath, readKeys } from "../../server/gate/keys/gateway-keys.ts";
import { isLoopback } from "../../server/gate/public-bind.ts";
import { findRemovedPatches, hasPatched } from "../ide/find-removed-patches.ts";
import { type Check, ok, warn } from "./check.ts";

/** One for each capture that is written now: everything that is said is in it. */
const captureChecks = (home: string): readonly Check[] =>
  runningCaptures(home).map(({ pid, file }) => ({
    id: "capture",
    look: () =>
      warn(
        `A capture is running: process ${pid} records prompts and answers in ${file}.`,
        "Stop that process, or start it without --capture and the setting `capture`.",
      ),
  }));

const patchCheck = (home: string): Check => ({
  id: "ide-patch",
  async look() {
    const removed = await findRemovedPatches(home);
    return removed.length === 0 ? ok("No update of Cursor has removed a patch.") : warn(removed.join(" "), PATCH_AGAIN);
  },
});

const PATCH_AGAIN = "Run: excursor ide patch";

const OLDEST_NODE = [22, 13] as const;

/** Checks this machine: its Node, the settings, the home folder. */
export function machineChecks(loaded: LoadedConfig): readonly Check[] {
  const { values: config, home, warnings } = loaded;
  return [
    {
      id: "node",
      look() {
        const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
        const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
        const text = `Node ${process.versions.node} on ${process.platform}.`;
        return isOld ? { status: "fail", text, fix: `Install Node ${OLDEST_NODE.join(".")} or newer.` } : ok(text);
      },
    },
    {
      id: "config",
      look() {
        const [odd] = warnings;
        return odd === undefined
          ? ok(`The settings are valid (${join(home, "config.json")}).`)
          : warn(`${odd}.`, "Rename it, or remove it.");
      },
    },
    {
      id: "home",
      look() {
        openHome(home);
        const key = config.key ?? keyOf(home);
        const given = readKeys(keysPath(home)).length;
        if (!isLoopback(config.host))
          return warn(
            `The gateway listens on ${config.host}, where others can reach it.`,
            "Set host to 127.0.0.1 unless you want that.",
          );
        const weak = key.reveal().length < 20 ? "a short key" : "a strong key";
        return ok(
          `${home} is private. The gateway has ${weak} and ${given === 0 ? "no" : given} keys for other users.`,
        );
      },
    },
    ...captureChecks(home),
    ...(hasPatched(home) ? [patchCheck(home)] : []),
    {
      id: "tls",
      look() {
        if (process.env["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return ok("Certificates are checked.");
        return warn("NODE_TLS_REJECT_UNAUTHORIZED=0: certificates are not checked.", "Remove it from the environment.");
      },
    },
  ];
}
