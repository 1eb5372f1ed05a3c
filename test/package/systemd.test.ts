import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { newFolder, run } from "./support/installation.ts";
import { nodeOf } from "./support/node-version.ts";
import { CAN_RUN_SYSTEMD, runWithSystemd } from "./support/user-systemd.ts";

const READY = "until excursor service status > /dev/null && excursor models > /dev/null 2>&1; do sleep 0.1; done";

const SCRIPT = `excursor service install --demo
${READY}
excursor chat '@sim say through the service'
first=$(systemctl --user show --property MainPID --value excursor)
grep -E '^(NoNewPrivs|Seccomp):' /proc/$first/status
systemctl --user is-enabled excursor
kill -KILL $first
until second=$(systemctl --user show --property MainPID --value excursor); [ $second != 0 ] && [ $second != $first ]; do sleep 0.1; done
echo started again
excursor service stop
excursor service status || echo "status $?"
node -e 'require("node:net").createServer().listen(8787, "127.0.0.1")' &
taken=$!
excursor service start
until systemctl --user is-failed --quiet excursor; do sleep 0.1; done
systemctl --user show --property Result --value excursor
kill $taken
excursor service start
${READY}
excursor reset --yes
systemctl --user cat excursor 2> /dev/null || echo gone
`;

it.skipIf(!CAN_RUN_SYSTEMD)("a real systemd of a user starts, restarts and stops the service", () => {
  const folder = newFolder();
  run("npm", ["install", "-g", "--prefix", folder, "--no-audit", "--no-fund", inject("tarball")], folder);
  copyFileSync(nodeOf("22.13.0"), join(folder, "bin/node"));
  chmodSync(folder, 0o755);
  const home = join(folder, "home");
  mkdirSync(home);
  chownSync(home, 1000, 1000);
  const { status, stdout, stderr } = runWithSystemd(SCRIPT, { HOME: home, PATH: `${folder}/bin:/usr/bin:/bin:/sbin` });
  expect(status, `${stdout}${stderr}`).toBe(0);
  expect(stdout).toContain("through the service\nNoNewPrivs:\t1\nSeccomp:\t2\nenabled\nstarted again\n");
  expect(stdout).toMatch(/The service is stopped .*\nstatus 3\n/);
  // systemd has given up, and must be told to try again.
  expect(stdout).toMatch(/exit-code\nThe service was started\./);
  expect(stdout).toMatch(/gone\n$/);
  expect(readdirSync(home, { recursive: true })).toEqual([]);
});
