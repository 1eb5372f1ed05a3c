import { Command } from "@commander-js/extra-typings";

export const keyCommand = () =>
  new Command("key")
    .description("Print the gateway's API key. The first call creates it.")
    .option("--bridge", "print the key of the bridge for the Cursor IDE instead", false)
    .action(async ({ bridge }) => {
      const { gatewayAddress } = await import("../gateway-address.ts");
      const { bridgeKey } = await import("./bridge-key.ts");
      const key = bridge ? bridgeKey(process.env) : gatewayAddress({}).key;
      process.stdout.write(`${key.reveal()}\n`);
    });
