import { Command } from "@commander-js/extra-typings";

export const nodesCommand = () =>
  new Command("nodes")
    .description("List the gateways of the cluster: version, parked runs, follow-ups replayed from other gateways.")
    .option("--redis <url>", "Redis of the cluster; use EXCURSOR_CLUSTER_REDIS if it has a password")
    .option("--json", "print JSON", false)
    .action(async (flags) => (await import("../actions/nodes.ts")).runNodes(flags));
