import { Command } from "@commander-js/extra-typings";

export const doctorCommand = () =>
  new Command("doctor")
    .description("Look at everything that has to be right, one line each, and say what to do about the rest.")
    .option("--account <name>", "which account, if there are several")
    .option("--upstream <url>", "another backend origin")
    .option(
      "-m, --model <model>",
      "the model that is asked (default: auto, or one of another upstream without an account)",
    )
    .option("--demo", "look at a gateway in front of the embedded simulator", false)
    .option("--quick", "ask no model anything", false)
    .option("--json", "print JSON", false)
    .addHelpText(
      "after",
      `
Two short questions are put to the model, which count as any others do, and agents are started; --quick leaves both out.
Where models lead to another upstream, or agents are set up, no Cursor account is needed.
Exit code: 0 if all is well, 1 if something may be better, 2 if something does not work.`,
    )
    .action(async (flags) => {
      const { runDoctor } = await import("./run-doctor.ts");
      await runDoctor(flags);
    });
