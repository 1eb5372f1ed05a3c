import type { DatabaseSync } from "node:sqlite";
import type { Limits } from "../config/limits.ts";
import type { Log } from "../observe/log.ts";
import type { ServerView } from "../server/live-requests.ts";
import type { Route } from "../server/routes/route.ts";
import type { Call } from "./call.ts";
import { type NowSources, nowCalls, nowMessage } from "./calls/now.ts";
import { promptCalls } from "./calls/prompts.ts";
import { usageCalls } from "./calls/usage.ts";
import { Feed } from "./feed.ts";
import { createPageSender } from "./page-route.ts";
import { dashboardRoutes } from "./routes.ts";
import { Sessions } from "./sessions.ts";

export interface DashboardOptions extends Omit<NowSources, "server"> {
  readonly version: string;
  readonly isDemo: boolean;
  readonly limits: Limits;
  /** The usage record. */
  readonly usage: DatabaseSync;
  readonly log: Log;
  /** The calls of pages that need more than the gateway's own parts. */
  readonly calls?: readonly Call[];
}

/** Creates the dashboard of one listener. */
export function createDashboard(options: DashboardOptions): (server: ServerView) => readonly Route[] {
  const { version, isDemo, limits, usage, prompts, calls = [] } = options;
  return (server) => {
    const sessions = new Sessions();
    return dashboardRoutes({
      sessions,
      feed: new Feed({
        sessions,
        message: () => nowMessage({ ...options, server }),
        attend: () => prompts.attend(),
      }),
      sendPage: createPageSender(options.log),
      calls: [...nowCalls(options), ...usageCalls(usage), ...promptCalls(prompts), ...calls],
      server,
      limits,
      facts: { version, isDemo },
    });
  };
}
