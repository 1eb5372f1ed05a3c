import { Command, Option } from "@commander-js/extra-typings";

export const loginCommand = () =>
  new Command("login")
    .description("Sign in to Cursor, once: the login is kept and renewed by itself.")
    .option("--account <name>", "what to call the account; several can be signed in", "default")
    .addOption(
      new Option("--api-key [key]", "with a user's API key of the Cursor dashboard").conflicts([
        "cookie",
        "from",
        "seed",
      ]),
    )
    .addOption(
      new Option("--cookie [value]", "with the cookie WorkosCursorSessionToken of cursor.com").conflicts([
        "from",
        "seed",
      ]),
    )
    .addOption(
      new Option("--from <program>", "import the login of Cursor's editor or command line")
        .choices(["ide", "cli"] as const)
        .conflicts("seed"),
    )
    .addOption(new Option("--seed [text]", "with `refresh|apiKey`, as some plugins keep it"))
    .option("--no-browser", "only print the address, do not open it")
    .option("--upstream <url>", "another backend origin")
    .option("--json", "print JSON lines: the address, then the account", false)
    .addHelpText(
      "after",
      `
Without a value, --api-key, --cookie and --seed are asked for, or read from stdin: what stands on the command line can be
seen in the process list.
  excursor login                          # opens the browser; on a server, open the address elsewhere
  excursor login --account work
  excursor login --from ide
  echo "$KEY" | excursor login --api-key`,
    )
    .action(async (flags) => {
      const { runLogin } = await import("./run-login.ts");
      await runLogin(flags);
    });
