import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CLIENTS_FOLDER } from "../../../scripts/install-clients.ts";
import type { SimOptions } from "../../../src/sim/options.ts";
import { type Stage, setUpGateway } from "../../gateway/support/gateway-process.ts";
import { type BridgeLine, readLines } from "../../server/support/read-lines.ts";
import { type Desk, setUpDesk } from "./run-cli.ts";

const NOBODY = 65_534;

export interface AgentBridge {
  readonly desk: Desk;
  readonly trace: Stage["trace"];
  /** Where Cursor's own clients find the agent as a model. */
  readonly cursorUrl: string;
  /** Asks in one conversation; permission requests are answered as the test says. */
  ask(message: string, answer?: "allow_once" | "reject_once"): Promise<readonly BridgeLine[]>;
}

export interface AgentEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What it is called in the settings; `tried` if unset. */
  readonly name?: string;
  readonly allow?: readonly string[];
}

/**
 * A gateway with one agent behind its bridge, and another gateway that is the agent's model. The agent is a user of its
 * own where that can be: some refuse to work for root.
 */
export async function setUpAgentBridge(
  entry: (modelUrl: string, desk: Desk) => AgentEntry,
  sim: Partial<SimOptions> = {},
): Promise<AgentBridge> {
  const { start, home, trace } = await setUpGateway(sim);
  const model = await start();
  const desk = setUpDesk();
  const { command, args, env, name = "tried", allow } = entry(model.url, desk);
  const program = [command, ...args];
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, dirname(desk.home)]);
  const asNobody = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
  const [first = "", ...rest] = isRoot ? [...asNobody, ...program] : program;
  const agent = {
    command: first,
    args: rest,
    cwd: desk.folder,
    ...(allow && { allow }),
    env: {
      HOME: desk.home,
      TMPDIR: desk.home,
      XDG_CONFIG_HOME: join(desk.home, "config"),
      XDG_DATA_HOME: join(desk.home, "data"),
      XDG_STATE_HOME: join(desk.home, "state"),
      XDG_CACHE_HOME: join(desk.home, "cache"),
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      ...env,
    },
  };
  writeFileSync(join(home, "config.json"), JSON.stringify({ agents: { [name]: agent }, bridgePort: 0 }), {
    mode: 0o600,
  });
  const gateway = await start("--bridge", "--cursor-face", "--cursor-port", "0");
  const key = readFileSync(join(home, "bridge-key"), "utf8").trim();
  const post = (path: string, body: object) =>
    fetch(`${gateway.bridgeUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "x-excursor-bridge": "1", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    desk,
    trace,
    cursorUrl: gateway.cursorUrl ?? "",
    async ask(message, answer = "reject_once") {
      const response = await post("/acp/sendMessage", { provider: name, message, composerId: "c1", stream: true });
      if (response.status !== 200) throw new Error(`${await response.text()}\n${gateway.log()}`);
      const lines: BridgeLine[] = [];
      for await (const line of readLines(response)) {
        lines.push(line);
        if (line.type !== "permission") continue;
        const options = line["options"] as { id: string; kind: string }[];
        const optionId = options.find(({ kind }) => kind === answer)?.id;
        await post("/acp/permission", { requestId: line["requestId"], optionId });
      }
      if (lines.at(-1)?.type !== "done") throw new Error(`${JSON.stringify(lines)}\n${gateway.log()}`);
      return lines;
    },
  };
}

export const installed = (command: string): string => join(CLIENTS_FOLDER, "node_modules/.bin", command);

export const said = (lines: readonly BridgeLine[], type: "text" | "thought"): string =>
  lines.map((line) => (line.type === type ? line["content"] : "")).join("");
