import { ExcursorError } from "../../core/errors.ts";
import type { LogTail } from "../../observe/log-tail.ts";
import { type Call, MAX_REPLY_BYTES } from "../call.ts";
import type { DriftReply } from "../captured-messages.ts";
import type { AboutReply, AccountReply, HealthLine, HealthReply, LogReply } from "../messages.ts";

export interface HealthSources {
  readonly about: Omit<AboutReply, "uptimeS" | "memoryBytes" | "capture">;
  /** Returns the state of the gateway's capture. */
  readonly capture: () => AboutReply["capture"];
  /** Compares the gateway's capture with our schema. Absent: it records nothing. */
  readonly drift?: (() => Promise<DriftReply>) | undefined;
  /** Asks the backend about the gateway's own account. */
  readonly account: () => Promise<AccountReply>;
  /** Runs the checks of `excursor doctor`. */
  readonly examine: () => Promise<readonly HealthLine[]>;
  readonly logTail: LogTail;
}

/** JSON escapes the quotes of a line again, and other characters may take several bytes. */
const LOG_CHARS = MAX_REPLY_BYTES / 3;

/** The calls of the page Account and health. */
export function healthCalls(sources: HealthSources): readonly Call[] {
  const { about, capture, account, logTail } = sources;
  let last: HealthReply | undefined;
  const check = oneAtATime(async () => {
    last = { at: Date.now(), lines: await sources.examine() };
    return last;
  });
  const checkDrift = oneAtATime(async () => {
    if (sources.drift) return sources.drift();
    throw new ExcursorError("not-found", "The gateway records nothing, so there is nothing to compare.", {
      hint: "Start it with `excursor serve --capture`.",
    });
  });
  return [
    {
      method: "GET",
      path: "/about",
      handle: (): AboutReply => ({
        ...about,
        uptimeS: Math.round(process.uptime()),
        memoryBytes: process.memoryUsage.rss(),
        capture: capture(),
      }),
    },
    { method: "GET", path: "/account", handle: account },
    { method: "GET", path: "/health", handle: () => last ?? check() },
    { method: "POST", path: "/health", handle: check },
    { method: "POST", path: "/drift", handle: checkDrift },
    {
      method: "GET",
      path: "/log",
      handle({ query }): LogReply {
        const after = Number(query.get("after") ?? 0);
        if (!Number.isSafeInteger(after)) {
          throw new ExcursorError("invalid-request", "after: expected the number of a line.", { field: "after" });
        }
        return { lines: logTail.after(after, LOG_CHARS) };
      },
    },
  ];
}

/** Two pages that ask at the same time share the work. */
function oneAtATime<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
