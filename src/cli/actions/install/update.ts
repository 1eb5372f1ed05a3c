import { spawnSync } from "node:child_process";
import { ExcursorError } from "../../../core/errors.ts";
import { jsonText } from "../../../core/printable.ts";
import { version } from "../../version.ts";

export interface UpdateFlags {
  readonly check: boolean;
  readonly json: boolean;
}

const HOW = "npm install -g excursor@latest";
const TIMEOUT_MS = 60_000;

/** Prints how to update; with `check`, whether there is something newer. */
export function runUpdate({ check, json }: UpdateFlags): void {
  const current = version();
  if (!check) {
    process.stdout.write(
      `This is Excursor ${current}. To update: ${HOW}\nThen restart the gateway; a service with \`excursor service install\`.\n`,
    );
    return;
  }
  const newest = newestVersion();
  const isNewer = isAfter(newest, current);
  if (json) process.stdout.write(`${jsonText({ current, newest, isNewer, command: isNewer ? HOW : null })}\n`);
  else
    process.stdout.write(
      isNewer
        ? `Excursor ${newest} is available; this is ${current}. To update: ${HOW}\n`
        : `Excursor ${current} is up to date.\n`,
    );
}

/** Asks by npm, which knows the user's registry and proxy. */
function newestVersion(): string {
  const { status, stdout, stderr, error } = spawnSync("npm", ["view", "excursor", "version", "--json"], {
    encoding: "utf8",
    timeout: TIMEOUT_MS,
  });
  const found = status === 0 ? /^"(\d+\.\d+\.\d+(?:-[\w.-]+)?)"$/.exec(stdout.trim())?.[1] : undefined;
  if (found !== undefined) return found;
  const isSilent = (error as NodeJS.ErrnoException | undefined)?.code === "ETIMEDOUT";
  const reason =
    (isSilent ? `it did not answer within ${TIMEOUT_MS / 1000} s` : error?.message) ??
    /^npm (?:error|ERR!) (?!code)(.+)$/m.exec(stderr)?.[1] ??
    "its answer has no version";
  throw new ExcursorError("no_newest_version", [reason]);
}

/** True if version `a` comes after version `b`. A pre-release comes before its release. */
export function isAfter(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => {
    const [numbers = "", pre] = text.split(/-(.*)/s);
    return { numbers: numbers.split(".").map(Number), pre };
  });
  const difference = left?.numbers.map((part, index) => part - (right?.numbers[index] ?? 0)).find((each) => each !== 0);
  if (difference !== undefined) return difference > 0;
  if (left?.pre === right?.pre) return false;
  return left?.pre === undefined || (right?.pre !== undefined && left.pre > right.pre);
}
