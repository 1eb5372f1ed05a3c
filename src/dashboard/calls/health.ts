import { ExcursorError } from "../../core/errors.ts";
import type { LogTail } from "../../observe/log-tail.ts";
import { type Call, MAX_REPLY_BYTES } from "../call.ts";
import type { AboutReply, AccountReply, HealthLine, HealthReply, LogReply } from "../messages.ts";

export interface HealthSources {
  readonly about: Omit<AboutReply, "uptimeS" | "memoryBytes" | "capture">;
  /** Returns the state of the gateway's capture. */
  readonly capture: () => AboutReply["capture"];
  /** Asks the backend about the gateway's own account. */
  readonly account: () => Promise<AccountReply>;
  /** Runs the checks of `excursor doctor`. */
  readonly examine: () => Promise<readonly HealthLine[]>;
  readonly logTail: LogTail;
}

/** JSON escapes the quotes of a line again, and other characters may take several bytes. */
const LOG_CHARS = MAX_REPLY_BYTES / 3;

/** The calls of the page Account and health. */
export function healthCalls({ about, capture, account, examine, logTail }: HealthSources): readonly Call[] {
  let last: HealthReply | undefined;
  let running: Promise<HealthReply> | undefined;
  /** Two pages share one examination. */
  const check = (): Promise<HealthReply> => {
    running ??= examine()
      .then((lines) => {
        last = { at: Date.now(), lines };
        return last;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  };
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
