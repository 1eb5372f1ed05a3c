import { Command } from "@commander-js/extra-typings";

export const doctorCommand = () =>
  new Command("doctor")
    .description("Check that everything works, one line per check, and say how to fix what does not.")
    .option("--account <name>", "account to check, if there are several")
    .option("--upstream <url>", "backend to use instead of Cursor's")
    .option(
      "-m, --model <model>",
      "model for the test questions (default: auto; without an account, a model of another upstream)",
    )
    .option("--demo", "check a gateway that uses the built-in simulator", false)
    .option("--quick", "send no test questions and start no agents", false)
    .option(
      "--probe-version",
      "only find out which client versions the backend still takes, with at most 5 calls",
      false,
    )
    .option("--json", "print JSON", false)
    .addHelpText(
      "after",
      `
The doctor sends two short questions to the model, which count against your quota, and starts your agents. --quick skips both.
You need no Cursor account if another upstream or an agent is configured.
Exit code: 0 if every check passed, 1 if there was a warning, 2 if a check failed.`,
    )
    .action(async (flags) => (await import("../actions/doctor.ts")).runDoctor(flags));
