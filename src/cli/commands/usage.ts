import { Command, Option } from "@commander-js/extra-typings";
import { EXPORTED, GROUPS } from "../../usage/reports/usage-groups.ts";

const SINCE = "today, a number of days (7d) or hours (12h), or a day such as 2026-11-01; without it, the last 30 days";

const groupOption = () =>
  new Option("--by <group>", "how to group the requests").choices(GROUPS).default("day" as (typeof GROUPS)[number]);

const exportCommand = () =>
  new Command("export")
    .description("Print every request of the usage record. It holds no prompts, answers, arguments or results.")
    .addOption(new Option("--of <records>", "what to print").choices(EXPORTED).default("requests" as const))
    .addOption(
      new Option("--format <format>", "csv or jsonl").choices(["csv", "jsonl"] as const).default("csv" as const),
    )
    .option("--since <time>", SINCE)
    .action(async (flags) => (await import("../actions/usage.ts")).runUsageExport(flags));

const watchCommand = () =>
  new Command("watch")
    .description("Show the usage of today, updated every second, until Ctrl-C.")
    .addOption(groupOption().default("model" as (typeof GROUPS)[number]))
    .action(async (flags) => (await import("../actions/usage.ts")).runUsageWatch(flags));

export const usageCommand = () => {
  const command = new Command("usage")
    .description("Show what was used: requests, tokens and cost.")
    .addOption(groupOption())
    .option("--since <time>", SINCE)
    .option("--json", "print JSON", false)
    .action(async (flags) => (await import("../actions/usage.ts")).runUsage(flags));
  for (const subcommand of [exportCommand, watchCommand]) command.addCommand((subcommand() as Command).exitOverride());
  return command;
};
