import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import { LAUNCHD_LABEL, launchdAgent } from "./launchd-agent.ts";
import type { ServicePlan } from "./service-plan.ts";
import { systemdUnit } from "./systemd-unit.ts";

export type ServiceState = "running" | "stopped" | "failed";

/** The program of the system that runs services of the user. */
export interface ServiceManager {
  readonly name: string;
  /** The file that describes the service. */
  readonly file: string;
  /** The file of the log, if the manager keeps none itself. */
  readonly logFile?: string;
  describe(plan: ServicePlan): string;
  /** Makes the manager read the file, and start the service at every login from now on. */
  enable(): void;
  disable(): void;
  start(): void;
  stop(): void;
  state(): ServiceState;
  /** Shows the log on stdout; with `follow`, until Ctrl-C. */
  showLog(lines: number, follow: boolean): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the manager of this system. Throws if Excursor knows none. */
export function findServiceManager(platform: NodeJS.Platform, environment: Environment): ServiceManager {
  if (platform === "linux") return systemd(environment);
  if (platform === "darwin") return launchd();
  throw new ExcursorError("no_service_manager");
}

const UNIT = "excursor.service";

function systemd(environment: Environment): ServiceManager {
  const folder = join(environment["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "systemd", "user");
  const systemctl = (...args: string[]) => call("systemctl", ["--user", ...args]);
  return {
    name: "systemd",
    file: join(folder, UNIT),
    describe: systemdUnit,
    enable() {
      systemctl("daemon-reload");
      systemctl("enable", UNIT);
    },
    disable: () => void systemctl("disable", UNIT),
    start() {
      // systemd refuses a service that has failed often in the last minute. This fails for one that is not loaded.
      spawnSync("systemctl", ["--user", "reset-failed", UNIT], { stdio: "ignore", timeout: TIMEOUT_MS });
      systemctl("restart", UNIT);
    },
    stop: () => void systemctl("stop", UNIT),
    state() {
      const state = systemctl("show", "--property=ActiveState", "--value", UNIT).trim();
      if (state === "active" || state === "activating" || state === "reloading") return "running";
      return state === "failed" ? "failed" : "stopped";
    },
    showLog: (lines, follow) =>
      show("journalctl", [
        "--user",
        "--unit",
        UNIT,
        "--lines",
        String(lines),
        "--output",
        "cat",
        ...(follow ? ["--follow"] : ["--no-pager"]),
      ]),
  };
}

/** Not tried on a Mac. */
function launchd(): ServiceManager {
  const file = join(homedir(), "Library", "LaunchAgents", `${LAUNCHD_LABEL}.plist`);
  const logFile = join(homedir(), "Library", "Logs", "excursor.log");
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const target = `${domain}/${LAUNCHD_LABEL}`;
  const isLoaded = () => spawnSync("launchctl", ["print", target], { stdio: "ignore" }).status === 0;
  return {
    name: "launchd",
    file,
    logFile,
    describe: (plan) => launchdAgent(plan, logFile),
    enable: () => void call("launchctl", ["enable", target]),
    disable: () => void call("launchctl", ["disable", target]),
    start() {
      if (isLoaded()) call("launchctl", ["bootout", target]);
      call("launchctl", ["bootstrap", domain, file]);
    },
    stop() {
      if (isLoaded()) call("launchctl", ["bootout", target]);
    },
    state() {
      if (!isLoaded()) return "stopped";
      return /state = running/.test(call("launchctl", ["print", target])) ? "running" : "failed";
    },
    showLog: (lines, follow) => show("tail", ["-n", String(lines), ...(follow ? ["-f"] : []), logFile]),
  };
}

/** Long enough for a gateway that lets its answers finish. */
const TIMEOUT_MS = 60_000;

/** Runs a program of the system and returns its stdout. */
function call(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", timeout: TIMEOUT_MS });
  if (status === 0) return stdout;
  const reason = (error ? error.message : stderr.trim().split("\n")[0] || `exit code ${status}`).replace(
    /\.{1,9}$/,
    "",
  );
  const isAway = error !== undefined || /connect to (?:user scope )?bus|XDG_RUNTIME_DIR/i.test(stderr);
  throw new ExcursorError(
    isAway ? "no_service_manager" : "service_failed",
    `${command} ${args.join(" ")} failed: ${reason}.`,
    {
      ...(!isAway && { kind: "io" }),
      hint: isAway
        ? "Services of a user need systemd and a login of that user: log in directly, not with su or sudo. In a container, run `excursor serve` as its main process."
        : "`excursor service logs` shows what the gateway said; `excursor service status` shows its state.",
    },
  );
}

function show(command: string, args: readonly string[]): void {
  // Ctrl-C ends the other program; this one then continues.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  const { error, status } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  process.off("SIGINT", ignore);
  if (error) throw new ExcursorError("no_service_manager", `${command} could not be started: ${error.message}.`);
  // Null after Ctrl-C.
  if (status) {
    throw new ExcursorError("no_service_log", [command, status]);
  }
}
