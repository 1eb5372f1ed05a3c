import { Command } from "@commander-js/extra-typings";

export const driftCommand = () =>
  new Command("drift")
    .description(
      "Compare our schema of Cursor's protocol with the one that Cursor publishes. Exits with 1 on conflicts.",
    )
    .requiredOption(
      "--sdk <path|version>",
      "folder or version of the npm package @cursor/sdk; its code is read, never run",
    )
    .option("--rpcs", "also list RPCs that only Cursor has", false)
    .option("--json", "print JSON", false)
    .action(async (flags) => {
      const { runDrift } = await import("../actions/drift.ts");
      process.exitCode = await runDrift(flags);
    });
