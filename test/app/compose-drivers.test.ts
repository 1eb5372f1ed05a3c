import { expect, it } from "vitest";
import { composeDrivers } from "../../src/app/compose-drivers.ts";
import { DRIVERS } from "../../src/app/drivers.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { driverServices } from "../drivers/support/driver-services.ts";

const compose = (models: object) => {
  const environment = { EXCURSOR_HOME: "/nonexistent/excursor", EXCURSOR_MODELS: JSON.stringify(models) };
  return composeDrivers(DRIVERS, loadConfig({ flags: {}, environment }).values, driverServices());
};

it("entries of models come before the forms of names, and those before Cursor", async () => {
  const at = (host: string) => ({ driver: "openai", baseURL: `https://${host}/v1` });
  const { all, cursor, route, isCursors } = await compose({
    "local/*": at("local.example"),
    "acp:mine": at("own.example"),
  });
  const hostFor = (model: string) => all.get(route(model))?.host;
  expect([hostFor("local/x"), hostFor("acp:mine")]).toEqual(["local.example", "own.example"]);
  expect(all.get(route("gpt-5.5"))).toBe(cursor);
  expect(["gpt-5.5", "acp:gemini", "local/x"].map(isCursors)).toEqual([true, false, false]);
  expect(all.get(route("acp:gemini"))?.listCommands).toBeDefined();
});

it("an entry that is called like a driver does not take its place", async () => {
  const { all, cursor, route } = await compose({ cursor: { driver: "openai", baseURL: "https://x.example/v1" } });
  expect(all.get(route("cursor"))?.host).toBe("x.example");
  expect(all.get(route("gpt-5.5"))).toBe(cursor);
  expect(cursor.host).toBeUndefined();
});
