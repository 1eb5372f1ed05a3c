import { Command } from "@commander-js/extra-typings";

export const keyCommand = () =>
  new Command("key").description("Print the gateway's API key; it is made on the first call.").action(async () => {
    const { gatewayAddress } = await import("./gateway-address.ts");
    process.stdout.write(`${gatewayAddress({}).key.reveal()}\n`);
  });
