import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { canRunAs } from "../support/other-user.ts";

/** A user who is in no list, as in a container that runs as any user. */
const STRANGER = 54_321;

it.skipIf(!canRunAs(STRANGER))(
  "a user without a home folder needs EXCURSOR_HOME, and no more",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "excursor-stranger-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    chownSync(folder, STRANGER, STRANGER);
    const run = (environment: Record<string, string>) =>
      spawnSync(process.execPath, ["bin/excursor.js", "chat", "--demo", "@sim say hello"], {
        encoding: "utf8",
        uid: STRANGER,
        gid: STRANGER,
        env: { EXCURSOR_KEYCHAIN: "off", ...environment },
      });
    expect(run({})).toMatchObject({ status: 78, stderr: expect.stringMatching(/no home folder.*EXCURSOR_HOME/s) });
    expect(run({ EXCURSOR_HOME: folder })).toMatchObject({ status: 0, stdout: "hello\n" });
  },
  60_000,
);
