import type { Driver, RequestContext, RunContext } from "../driver.ts";
import type { HubMemory } from "../hub/hub-memory.ts";
import { HubRun } from "../hub/hub-run.ts";
import type { ToolHub } from "../hub/tool-hub.ts";
import type { Turn } from "../turn.ts";
import type { HubCallLog } from "./call-log.ts";
import { CallNames } from "./run/call-names.ts";
import { LiveRun } from "./run/live-run.ts";
import { openMetered } from "./run/metered-run.ts";
import { oneCallAtATime } from "./run/one-call-at-a-time.ts";
import { RunClient } from "./run/run-client.ts";

/** The hub's part of the engine: what every run with hub tools needs. */
export interface HubParts {
  readonly hub: ToolHub;
  readonly memory: HubMemory;
  /** How many rounds of hub tools one answer may have. */
  readonly maxSteps: number;
  readonly callLog: HubCallLog | undefined;
}

/**
 * Opens a new run of the driver for a turn. From the driver outwards: the run itself, its meter, the hub's tools if the turn
 * wants them, one call at a time if the client wants that.
 */
export function startRun(driver: Driver, turn: Turn, context: RequestContext, hubParts: HubParts | undefined): LiveRun {
  const { requestId, tools, hops } = context;
  const names = new CallNames();
  const client = new RunClient(context);
  const { elicit, observer, trace, onLost } = client;
  const runContext: RunContext = { requestId, tools, hops, elicit, observer, trace, onLost };
  const open = metered(driver, client);
  const run =
    hubParts && wantsHub(turn, context)
      ? new HubRun({ ...hubParts, turn, context: runContext, open, nameOf: (id) => names.toClient(id) })
      : open(turn, runContext);
  return new LiveRun(turn.allowsParallelCalls ? run : oneCallAtATime(run), names, client);
}

/** A turn that must call a tool, or must not, is about the client's own tools. */
const wantsHub = ({ toolChoice }: Turn, { tools }: RunContext): boolean =>
  tools === "hub" && toolChoice.type === "auto";

/** The hub may open several runs for one answer; each is metered by itself. */
const metered = (driver: Driver, client: RunClient): Driver["open"] =>
  client.isMetered
    ? (turn, context) => openMetered(driver, turn, context, client)
    : (turn, context) => driver.open(turn, context);
