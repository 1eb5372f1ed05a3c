import type { AgentApp } from "@agentclientprotocol/sdk";
import type { CarriedFace } from "../shared/face-module.ts";
import type { AcpAgentOptions } from "./agent.ts";

/** Editors that start Excursor as an agent: ACP, which is JSON-RPC, over stdin and stdout. */
export const acpAgent: CarriedFace<AcpAgentOptions, AgentApp> = {
  name: "acp-agent",
  carrier: "stdio",
  async open(options) {
    const { createAcpAgent } = await import("./agent.ts");
    return createAcpAgent(options);
  },
};
