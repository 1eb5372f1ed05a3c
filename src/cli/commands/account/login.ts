import { Command, Option } from "@commander-js/extra-typings";

export const loginCommand = () =>
  new Command("login")
    .description("Sign in to Cursor. The login is stored and renewed automatically.")
    .option("--account <name>", "name for the account; you can sign in to several", "default")
    .addOption(
      new Option("--api-key [key]", "sign in with a user API key from the Cursor dashboard").conflicts([
        "cookie",
        "from",
        "seed",
      ]),
    )
    .addOption(
      new Option("--cookie [value]", "sign in with the cookie WorkosCursorSessionToken from cursor.com").conflicts([
        "from",
        "seed",
      ]),
    )
    .addOption(
      new Option("--from <program>", "import the login of the Cursor editor or of Cursor's command line")
        .choices(["ide", "cli"] as const)
        .conflicts("seed"),
    )
    .addOption(new Option("--seed [text]", "sign in with `refresh|apiKey`, the format that some plugins store"))
    .option("--no-browser", "print the sign-in URL without opening a browser")
    .option("--upstream <url>", "backend to use instead of Cursor's")
    .option("--json", "print JSON lines: the sign-in URL, then the account", false)
    .addHelpText(
      "after",
      `
Give --api-key, --cookie or --seed no value to be asked for it, or to have it read from stdin. A value on the command line
is visible in the process list.
  excursor login                          # opens the browser; on a server, open the URL on another machine
  excursor login --account work
  excursor login --from ide
  echo "$KEY" | excursor login --api-key`,
    )
    .action(async (flags) => (await import("../../actions/account/login.ts")).runLogin(flags));
