import { Command, Option } from "@commander-js/extra-typings";
import { LIMIT_EXPECTED } from "../../../core/limits/limit.ts";
import { wholeNumber } from "../../option-values.ts";

const addCommand = () =>
  new Command("add")
    .description("Create a key and print it. It is not shown again.")
    .argument("<name>", "name of the key: its user or its purpose")
    .option("--account <name>", "account that the key uses; default: the gateway's account")
    .option("--streams <n>", "concurrent streamed answers, at most", wholeNumber)
    .option(
      "--limit <limit>",
      `usage limit: requests or tokens a minute; tokens or dollars a day, a month (UTC), in total or per conversation; ${LIMIT_EXPECTED}; repeatable`,
      (limit: string, before: string[] = []) => [...before, limit],
    )
    .addOption(
      new Option("--on-limit <what>", "what happens to a parked run at a limit: end it, or keep it until `limits lift`")
        .choices(["end", "pause"] as const)
        .default("end" as const),
    )
    .action(async (name, flags) => (await import("../../actions/keys.ts")).runAddKey(name, flags));

const listCommand = () =>
  new Command("list")
    .description("List the keys and their limits.")
    .option("--json", "print JSON", false)
    .action(async ({ json }) => (await import("../../actions/keys.ts")).runListKeys(json));

const revokeCommand = () =>
  new Command("revoke")
    .description("Revoke a key. A running gateway rejects it at once.")
    .argument("<name>", "name of the key")
    .action(async (name) => (await import("../../actions/keys.ts")).runRevokeKey(name));

export const keysCommand = () => {
  const command = new Command("keys").description(
    "Create, list and revoke gateway keys for other users. Each key belongs to one account.",
  );
  for (const subcommand of [addCommand, listCommand, revokeCommand]) {
    command.addCommand((subcommand() as Command).exitOverride());
  }
  return command;
};
