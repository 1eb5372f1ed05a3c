import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const SYSTEMD = "/lib/systemd/systemd";

/** Only root can give a user a systemd of its own, with a network and a `/run` that nobody else sees. */
export const CAN_RUN_SYSTEMD =
  process.getuid?.() === 0 &&
  existsSync(SYSTEMD) &&
  ["unshare", "setpriv", "ip"].every((name) => spawnSync(name, ["--version"]).error === undefined);

/** Prepares what a login does: a folder in /run, a group of processes, and the mark that systemd has started the machine. */
const LOG_IN = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/1000
chmod 700 /run/user/1000
chown 1000:1000 /run/user/1000
ip link set lo up
groups=$(ls -d /sys/fs/cgroup/systemd /sys/fs/cgroup/unified 2>/dev/null || echo /sys/fs/cgroup)
for group in $groups; do
  mkdir -p "$group/excursor-test"
  chown 1000:1000 "$group/excursor-test" "$group/excursor-test"/cgroup.*
  echo $$ > "$group/excursor-test/cgroup.procs"
done
status=0
setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "$1" || status=$?
for group in $groups; do
  echo $$ > "$group/cgroup.procs"
  find "$group/excursor-test" -depth -type d -exec rmdir {} + 2>/dev/null || true
done
exit $status
`;

/** Starts the user's systemd and waits for it. It ends with the script. */
const START = `set -e
${SYSTEMD} --user > "$XDG_RUNTIME_DIR/systemd.log" 2>&1 &
manager=$!
trap 'kill $manager; wait $manager' EXIT
until systemctl --user is-system-running 2> /dev/null | grep -q running; do kill -0 $manager; sleep 0.1; done
`;

/** Runs a script as the user 1000, who has a real systemd. Returns what it printed, and its exit code. */
export function runWithSystemd(script: string, environment: Readonly<Record<string, string>>) {
  const args = ["--mount", "--net", "--propagation", "private", "sh", "-c", LOG_IN, "sh", `${START}${script}`];
  return spawnSync("unshare", args, {
    encoding: "utf8",
    timeout: 120_000,
    env: { ...environment, XDG_RUNTIME_DIR: "/run/user/1000" },
  });
}
