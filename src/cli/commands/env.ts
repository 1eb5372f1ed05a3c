import { Command, Option } from "@commander-js/extra-typings";
import { jsonText } from "../../core/printable.ts";
import { portNumber } from "../option-values.ts";

export const envCommand = () =>
  new Command("env")
    .description("Print the environment variables that point OpenAI clients at the gateway.")
    .option("--port <n>", "port of the gateway, if several run here", portNumber)
    .addOption(
      new Option("--shell <name>", "shell syntax to print")
        .choices(["sh", "fish", "powershell"] as const)
        .default(process.platform === "win32" ? ("powershell" as const) : ("sh" as const)),
    )
    .option("--json", "print a JSON object", false)
    .addHelpText("after", '\nUse it:\n  eval "$(excursor env)"\n  excursor env --shell fish | source')
    .action(async ({ shell, json, port }) => {
      const [{ findGateway }, { proveAddress }, { formatEnvironment }] = await Promise.all([
        import("../gateway-address.ts"),
        import("../proven-gateway.ts"),
        import("../terminal/format-environment.ts"),
      ]);
      const address = await findGateway({ port });
      await proveAddress(address, true);
      const variables = { OPENAI_BASE_URL: `${address.url}/v1`, OPENAI_API_KEY: address.key.reveal() };
      process.stdout.write(json ? `${jsonText(variables)}\n` : formatEnvironment(variables, shell));
    });
