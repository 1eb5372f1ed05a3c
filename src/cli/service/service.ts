import { existsSync, mkdirSync, readFileSync, realpathSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { ExcursorError } from "../../core/errors.ts";
import { fileError } from "../../files/file-error.ts";
import { writePrivate } from "../../files/write-private.ts";
import { serviceEnvironment } from "./service-environment.ts";
import { findServiceManager, type ServiceManager, type ServiceState } from "./service-manager.ts";

export interface ServiceReport {
  readonly manager: string;
  readonly file: string;
  readonly state: "not installed" | ServiceState;
  /** Why the installed service cannot work as it is, if so. */
  readonly problem: string | undefined;
}

/** The gateway as a service of this user. */
export class GatewayService {
  readonly #manager: ServiceManager;

  constructor(manager: ServiceManager = findServiceManager(process.platform, process.env)) {
    this.#manager = manager;
  }

  get file(): string {
    return this.#manager.file;
  }

  get isInstalled(): boolean {
    return existsSync(this.file);
  }

  /**
   * Writes the service, has it start at every login, and starts it. Writes it anew if there is one. Returns the names of
   * variables that the service does not get, because they hold secrets.
   */
  install(flags: readonly string[]): readonly string[] {
    const { file } = this;
    const before = this.isInstalled ? readFileSync(file) : undefined;
    const { variables, withheld } = serviceEnvironment(process.env);
    const description = this.#manager.describe({
      node: process.execPath,
      program: installedProgram(),
      flags,
      environment: variables,
    });
    try {
      mkdirSync(dirname(file), { recursive: true });
      writePrivate(file, description, { mode: 0o644, isUnlocked: true });
    } catch (error) {
      throw fileError(error, `write ${file}`);
    }
    try {
      this.#manager.enable();
    } catch (error) {
      // Half a service would be worse than none.
      if (before) writePrivate(file, before, { mode: 0o644, isUnlocked: true });
      else this.#removeFile();
      throw error;
    }
    this.#manager.start();
    return withheld;
  }

  start(): void {
    this.#check();
    this.#manager.start();
  }

  /** Stops it even if it could not start again. */
  stop(): void {
    this.#checkInstalled();
    this.#manager.stop();
  }

  showLog(lines: number, follow: boolean): void {
    this.#checkInstalled();
    this.#manager.showLog(lines, follow);
  }

  /** Stops and removes the service. Only removes it if the manager cannot be reached. */
  uninstall(): "stopped" | "removed" | "not installed" {
    if (!this.isInstalled) return "not installed";
    const failures: unknown[] = [];
    for (const step of [() => this.#manager.stop(), () => this.#manager.disable()]) {
      try {
        step();
      } catch (error) {
        failures.push(error);
      }
    }
    const { logFile } = this.#manager;
    this.#removeFile();
    if (logFile !== undefined) rmSync(logFile, { force: true });
    const [failure] = failures;
    if (failure === undefined) return "stopped";
    // The file is gone either way, so that the gateway does not start at the next login.
    if (ExcursorError.from(failure).code !== "no_service_manager") throw failure;
    return "removed";
  }

  report(): ServiceReport {
    const { name: manager, file } = this.#manager;
    if (!this.isInstalled) return { manager, file, state: "not installed", problem: undefined };
    return { manager, file, state: this.#manager.state(), problem: problemOf(readFileSync(file, "utf8")) };
  }

  /** Removes the file, systemd's link to it, and the folders that held nothing else. */
  #removeFile(): void {
    const folder = dirname(this.file);
    const links = join(folder, "default.target.wants");
    for (const path of [this.file, join(links, basename(this.file))]) rmSync(path, { force: true });
    for (const path of [links, folder, dirname(folder)]) removeIfEmpty(path);
  }

  #checkInstalled(): void {
    if (this.isInstalled) return;
    throw new ExcursorError("no_service");
  }

  #check(): void {
    this.#checkInstalled();
    const problem = problemOf(readFileSync(this.file, "utf8"));
    if (problem === undefined) return;
    throw new ExcursorError("service_broken", problem);
  }
}

/** Returns undefined where there are no services, for example on Windows. */
export function findService(): GatewayService | undefined {
  try {
    return new GatewayService();
  } catch {
    return undefined;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others use it, or it does not exist.
  }
}

/** Returns why the described service cannot start: an update of Node or of Excursor may have moved its files. */
function problemOf(text: string): string | undefined {
  const words = [...text.matchAll(/"((?:[^"\\]|\\.)*)"|<string>([^<]*)<\/string>/g)].map(
    ([, quoted, xml]) =>
      quoted?.replaceAll("%%", "%").replaceAll("$$", "$").replace(/\\(.)/g, "$1") ?? unescapeXml(xml ?? ""),
  );
  const serve = words.indexOf("serve");
  const [node, program] = words.slice(Math.max(0, serve - 2), serve);
  if (node === undefined || program === undefined) return "The file of the service is not complete.";
  const missing = [node, program].find((path) => !existsSync(path));
  return missing === undefined ? undefined : `The service starts ${missing}, which does not exist.`;
}

const unescapeXml = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** Returns the file that was started, without npm's link to it. Throws if npm will delete it. */
function installedProgram(): string {
  const started = realpathSync(process.argv[1] ?? "");
  if (!started.split(sep).includes("_npx")) return started;
  throw new ExcursorError("not_installed", [], {
    hint: "Install it first: npm install -g excursor. Then run `excursor service install`.",
  });
}
