/** What a program needs to run at all. Everything else, our keys and tokens among it, is given by name or not at all. */
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

/** The environment of a child process: the least it needs of ours, and what was named for it (SEC-42). */
export function minimalEnvironment(ours: Environment, named: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of NAMES) {
    const value = ours[name];
    // An exported function of bash is code.
    if (value !== undefined && !value.startsWith("()")) environment[name] = value;
  }
  return { ...environment, ...named };
}
