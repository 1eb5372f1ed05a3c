import { Command } from "@commander-js/extra-typings";
import { wholeNumber } from "../option-values.ts";

const addCommand = () =>
  new Command("add")
    .description("Make a key, and print it: it is never shown again.")
    .argument("<name>", "whose it is, or what it is for")
    .option("--account <name>", "the account that it uses; without it, the one that the gateway uses")
    .option("--requests-per-minute <n>", "how many requests it may make", wholeNumber)
    .option("--streams <n>", "how many streamed answers it may have at once", wholeNumber)
    .option("--tokens-per-day <n>", "how many tokens it may use from midnight to midnight, UTC", wholeNumber)
    .action(async (name, flags) => {
      const { runAddKey } = await import("./run-keys.ts");
      await runAddKey(name, flags);
    });

const listCommand = () =>
  new Command("list")
    .description("Show the keys that were given out, and what they may use.")
    .option("--json", "print JSON", false)
    .action(async ({ json }) => {
      const { runListKeys } = await import("./run-keys.ts");
      runListKeys(json);
    });

const revokeCommand = () =>
  new Command("revoke")
    .description("Take a key back; a gateway that runs knows it at once.")
    .argument("<name>", "which one")
    .action(async (name) => {
      const { runRevokeKey } = await import("./run-keys.ts");
      await runRevokeKey(name);
    });

export const keysCommand = () => {
  const command = new Command("keys").description(
    "Give out keys of the gateway, each for one account, and take them back.",
  );
  for (const subcommand of [addCommand, listCommand, revokeCommand]) {
    command.addCommand((subcommand() as Command).exitOverride());
  }
  return command;
};
