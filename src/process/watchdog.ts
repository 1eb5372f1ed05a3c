import { type ChildProcess, spawn } from "node:child_process";

/**
 * Ends process groups when this process dies, in whatever way. It is a shell that reads group ids from a pipe which
 * only this process holds. When the pipe closes, it ends the groups that are left. One shell serves all groups and
 * takes about 1 MiB.
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
  watch(group: number): void;
  /** Removes a group that has ended. Its id may soon be reused. */
  forget(group: number): void;
}

/**
 * Creates the watchdog; its shell starts with the first group. Windows has no process groups: closing stdin has to
 * suffice there.
 */
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
  // In its own session, so that a Ctrl-C or a kill of our group does not end it.
  const shell = spawn("/bin/sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
  shell.once("exit", onExit).once("error", onExit);
  shell.stdin.on("error", () => {});
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  return shell;
}
