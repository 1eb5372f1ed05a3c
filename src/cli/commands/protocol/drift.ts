import { Command } from "@commander-js/extra-typings";

export const driftCommand = () =>
  new Command("drift")
    .description(
      "Compare our schema of Cursor's protocol with recorded traffic, or with the one that Cursor publishes. Exits with 1 on conflicts.",
    )
    .argument("[file]", "capture: list what our schema does not know in it")
    .option("--sdk <path|version>", "folder or version of the npm package @cursor/sdk; its code is read, never run")
    .option("--rpcs", "also list RPCs that only Cursor has", false)
    .option("--json", "print JSON", false)
    .action(async (file, flags) => {
      const { runDrift } = await import("../../actions/protocol/drift.ts");
      process.exitCode = await runDrift({ file, ...flags });
    });
