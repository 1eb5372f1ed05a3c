import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setUpGateway } from "../../gateway/support/gateway-process.ts";
import type { Target } from "./fuzz-requests.ts";

const AGENT = fileURLToPath(new URL("../../drivers/acp/support/scripted-agent.mjs", import.meta.url));

/** A gateway process with a bridge, and one agent behind it. */
export async function setUpBridge() {
  const stage = await setUpGateway();
  const agents = { test: { command: process.execPath, args: [AGENT, "--images"] } };
  writeFileSync(join(stage.home, "config.json"), JSON.stringify({ agents, bridgePort: 0 }), { mode: 0o600 });
  const gateway = await stage.start("--bridge");
  const key = readFileSync(join(stage.home, "bridge-key"), "utf8").trim();
  const target: Target = { url: gateway.bridgeUrl ?? "", key, secrets: [stage.home] };
  return { gateway, target };
}
