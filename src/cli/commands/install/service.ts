import { Command } from "@commander-js/extra-typings";
import { wholeNumber } from "../../option-values.ts";

const actions = () => import("../../actions/install/service.ts");

export const serviceCommand = () => {
  const service = new Command("service").description(
    "Run the gateway in the background, from every login on: a user service of systemd (Linux) or launchd (macOS).",
  );
  service
    .command("install")
    .description("Install the service and start it. Run it again after an update of Node or Excursor.")
    .option("--demo", "answer from the built-in simulator", false)
    .addHelpText(
      "after",
      `
The service reads the same settings as \`excursor serve\` here and now, also from variables, but no secret ones.
It needs no root rights.
It ends when you log out, unless your system lets it linger: loginctl enable-linger`,
    )
    .action(async (flags) => (await actions()).installService(flags));
  service
    .command("start")
    .description("Start the service, or start it again.")
    .action(async () => (await actions()).startService());
  service
    .command("stop")
    .description("Stop the service until the next login. Answers under way finish first.")
    .action(async () => (await actions()).stopService());
  service
    .command("status")
    .description("Show whether the service is installed and runs. Exits with 3 if it does not run.")
    .option("--json", "print JSON", false)
    .action(async (flags) => (await actions()).showService(flags));
  service
    .command("logs")
    .description("Show the log of the service.")
    .option("-n, --lines <n>", "how many lines", wholeNumber, 100)
    .option("-f, --follow", "show new lines until Ctrl-C", false)
    .action(async (flags) => (await actions()).showServiceLog(flags));
  service
    .command("uninstall")
    .description("Stop the service and remove it. Settings, keys and logins stay; `excursor reset` removes those.")
    .action(async () => (await actions()).uninstallService());
  return service;
};
