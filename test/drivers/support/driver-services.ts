import { onTestFinished } from "vitest";
import { Secret } from "../../../src/core/secret.ts";
import { createFixedAccess } from "../../../src/credentials/fixed-access.ts";
import { type DriverServices, NO_STORES } from "../../../src/drivers/shared/driver-module.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";

/** What the gateway gives to drivers, until the test is over. */
export function driverServices(over: Partial<DriverServices> = {}): DriverServices {
  const transports = over.transports ?? { h1: createHttp1Transport(), h2: createConnectionPool() };
  onTestFinished(() => {
    transports.h1.destroy();
    transports.h2.destroy();
  });
  return {
    ...NO_STORES,
    origin: "http://127.0.0.1:9",
    environment: {},
    access: createFixedAccess(new Secret("tester")),
    isOwner: () => true,
    hopId: "hop",
    log: { info: () => {}, warn: () => {} },
    onSecret: () => {},
    ...over,
    transports,
  };
}
