import { describe, expect, it } from "vitest";
import { createAnthropicDriver } from "../../../src/drivers/anthropic/driver.ts";
import { createOpenAiDriver } from "../../../src/drivers/openai/driver.ts";
import { ask, driverOptions, failureOf } from "../support/open-driver.ts";

/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:9";

describe("an upstream that is down", () => {
  it.each([
    ["anthropic", createAnthropicDriver],
    ["openai", createOpenAiDriver],
  ] as const)("%s is asked again for a tenth of the requests, not for each (§3.3)", async (_, createDriver) => {
    const options = driverOptions(NOWHERE);
    let questions = 0;
    const transport: typeof options.transport = {
      ...options.transport,
      open(request, handler) {
        if (request.method !== "GET") questions++;
        return options.transport.open(request, handler);
      },
    };
    const driver = createDriver({ ...options, transport });
    const errors = await Promise.all(Array.from({ length: 30 }, () => failureOf(ask(driver))));
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(["connection_refused"]));
    // Ten are granted from the start.
    expect(questions).toBe(30 + 10);
  });
});
