import { type ChildProcess, spawn } from "node:child_process";

/**
 * Knows the process groups that must not outlive us. It is a shell that reads their numbers from a pipe which nobody
 * else holds: when that closes, however we died, it ends the groups that are left. One for all of them, about 1 MiB.
 */
const SCRIPT = `
groups=' '
while read -r what group; do
  case "$what" in
    +) groups="$groups$group " ;;
    -) case "$groups" in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
  esac
done
[ "$groups" = ' ' ] && exit
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
`;

export interface Watchdog {
  /** From now on this group dies with us. */
  watch(group: number): void;
  /** It is gone; its number may soon be somebody else's. */
  forget(group: number): void;
}

/** Started with the first group. On Windows there are no groups: there a closed stdin has to do. */
export function createWatchdog(): Watchdog {
  let shell: ChildProcess | undefined;
  const tell = (line: string) => {
    if (process.platform === "win32") return;
    shell ??= start(() => {
      shell = undefined;
    });
    shell.stdin?.write(line);
  };
  return { watch: (group) => tell(`+ ${group}\n`), forget: (group) => tell(`- ${group}\n`) };
}

function start(onExit: () => void): ChildProcess {
  // A session of its own: what ends our group, a Ctrl-C or a kill, must not end it.
  const shell = spawn("/bin/sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
  shell.once("exit", onExit).once("error", onExit);
  shell.stdin.on("error", () => {});
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return shell;
}
