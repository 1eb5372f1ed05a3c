/**
 * The variables that a program needs to run at all. All others, such as our keys and tokens, must be passed explicitly.
 */
const NAMES =
  process.platform === "win32"
    ? [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
      ]
    : ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the environment of a child process: the minimum of ours, and the named variables (SEC-42). */
export function minimalEnvironment(ours: Environment, named: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of NAMES) {
    const value = ours[name];
    // An exported bash function contains code.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  return { ...environment, ...named };
}
