import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";

/** A folder of its own for one run of a client: where it works, and what it takes for a home. */
export interface Desk {
  readonly folder: string;
  readonly home: string;
}

export interface CliOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of stdout that are JSON. */
  readonly events: readonly Record<string, unknown>[];
}

export function setUpDesk(): Desk {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "excursor-client-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const desk = { folder: join(root, "work"), home: join(root, "home") };
  for (const path of Object.values(desk)) mkdirSync(path);
  return desk;
}

/** The variables that make a desk the home of a client. */
export const homeOf = ({ home }: Desk): Readonly<Record<string, string>> => ({
  HOME: home,
  XDG_CONFIG_HOME: join(home, "config"),
  XDG_DATA_HOME: join(home, "data"),
  XDG_STATE_HOME: join(home, "state"),
  XDG_CACHE_HOME: join(home, "cache"),
});

/** Starts a client's command line, as its users would, with nothing of this machine's settings. */
export function startCli(
  command: string,
  args: readonly string[],
  { folder, home }: Desk,
  env: Readonly<Record<string, string>>,
): { readonly child: ChildProcess; readonly outcome: Promise<CliOutcome> } {
  const child = spawn(join(CLIENTS_FOLDER, "node_modules/.bin", command), args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      // Its own Node first: some need a newer one than the machine's.
      PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
      ...homeOf({ folder, home }),
      ...env,
    },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)];
  const outcome = new Promise<CliOutcome>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, stdout: stdout(), stderr: stderr(), events: stdout().split("\n").flatMap(parseLine) });
    });
  });
  return { child, outcome };
}

function gather(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8");
  stream?.on("data", (chunk) => {
    text += chunk;
  });
  return () => text;
}

function parseLine(line: string): Record<string, unknown>[] {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === "object" && value !== null ? [value as Record<string, unknown>] : [];
  } catch {
    return [];
  }
}
