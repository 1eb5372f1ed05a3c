import { Command, Option } from "@commander-js/extra-typings";

const app = () => new Option("--app <path>", "the Cursor to work on, if there are several: its install or app folder");
const json = () => new Option("--json", "print the outcome as JSON").default(false);
const dryRun = () => new Option("--dry-run", "say exactly what would be changed, and change nothing").default(false);

export const ideCommand = () =>
  new Command("ide")
    .description("Show the thinking of custom models as native blocks in the Cursor IDE, by a patch of its own files.")
    .addCommand(
      new Command("status")
        .description("Say for every Cursor on this machine: pristine, patched, updated since, or changed by others.")
        .addOption(app())
        .addOption(json())
        .action(async (flags) => (await import("./run-ide.ts")).runStatus(flags)),
    )
    .addCommand(
      new Command("patch")
        .description("Patch Cursor. It must not run; the files as they are get kept first.")
        .addOption(app())
        .addOption(dryRun())
        .addOption(
          new Option("--resign <how>", "macOS: sign the app again afterwards; it will no longer update itself").choices(
            ["adhoc"] as const,
          ),
        )
        .addOption(json())
        .action(async (flags) => (await import("./run-ide.ts")).runPatch(flags)),
    )
    .addCommand(
      new Command("restore")
        .description("Put back the files as they came, byte for byte.")
        .addOption(app())
        .addOption(dryRun())
        .addOption(json())
        .action(async (flags) => (await import("./run-ide.ts")).runRestore(flags)),
    )
    .addCommand(
      new Command("doctor")
        .description(
          "Look at everything that a patch depends on. Exit code 0: all is well, 1: a warning, 2: a failure.",
        )
        .addOption(app())
        .addOption(json())
        .action(async (flags) => (await import("./run-ide.ts")).runDoctor(flags)),
    )
    .addHelpText("after", "\nHow it works, what it changes and how to get rid of it: docs/ide.md.");
