import { Command } from "@commander-js/extra-typings";

const listCommand = () =>
  new Command("list")
    .description("List the limits of all keys, what each key has used, and when its limits reset.")
    .option("--json", "print JSON", false)
    .action(async ({ json }) => {
      const { runListLimits } = await import("../../actions/limits.ts");
      await runListLimits(json);
    });

const liftCommand = () =>
  new Command("lift")
    .description(
      "Let a key use its limits anew: what it has used so far no longer counts. Its paused runs go on with the client's next request. Works on a running gateway.",
    )
    .argument("<key>", "name of the key; owner is the gateway's own key")
    .option("--json", "print JSON", false)
    .action(async (key, { json }) => {
      const { runLiftLimits } = await import("../../actions/limits.ts");
      await runLiftLimits(key, json);
    });

export const limitsCommand = () => {
  const command = new Command("limits").description("Show what keys may use and have used, and lift their limits.");
  for (const subcommand of [listCommand, liftCommand]) command.addCommand((subcommand() as Command).exitOverride());
  return command;
};
