import { Command, Option } from "@commander-js/extra-typings";

const app = () => new Option("--app <path>", "install folder or app folder of Cursor, if there are several");
const json = () => new Option("--json", "print the result as JSON").default(false);
const dryRun = () => new Option("--dry-run", "print the exact changes without making them").default(false);

export const ideCommand = () =>
  new Command("ide")
    .description("Patch the Cursor IDE so that it shows the thinking of custom models in its native blocks.")
    .addCommand(
      new Command("status")
        .description(
          "Show the state of each Cursor installation: unpatched, patched, updated since, or changed by another program.",
        )
        .addOption(app())
        .addOption(json())
        .action(async (flags) => (await import("../actions/ide.ts")).runStatus(flags)),
    )
    .addCommand(
      new Command("patch")
        .description("Patch Cursor after a backup of its files. Close Cursor first.")
        .addOption(app())
        .addOption(dryRun())
        .addOption(
          new Option(
            "--resign <how>",
            "macOS: sign the app again after the change; the app then no longer updates itself",
          ).choices(["adhoc"] as const),
        )
        .addOption(json())
        .action(async (flags) => (await import("../actions/ide.ts")).runPatch(flags)),
    )
    .addCommand(
      new Command("restore")
        .description("Restore Cursor's original files, byte for byte.")
        .addOption(app())
        .addOption(dryRun())
        .addOption(json())
        .action(async (flags) => (await import("../actions/ide.ts")).runRestore(flags)),
    )
    .addCommand(
      new Command("doctor")
        .description("Check everything that the patch depends on. Exit code: 0 passed, 1 warning, 2 failure.")
        .addOption(app())
        .addOption(json())
        .action(async (flags) => (await import("../actions/ide.ts")).runDoctor(flags)),
    )
    .addHelpText("after", "\ndocs/ide.md describes how the patch works, what it changes and how to remove it.");
