import { installMcpServers } from "../../../scripts/install-clients.ts";

export const setup = installMcpServers;
