import { expect, it } from "vitest";
import { backendOrigin, restOriginOf } from "../../src/config/backend-origin.ts";

it.each([
  [undefined, "https://api.cursor.com"],
  ["https://api2.cursor.sh/", "https://api.cursor.com"],
  ["http://127.0.0.1:9999", "http://127.0.0.1:9999"],
])("the REST interface of the upstream %s is at %s", (upstream, rest) => {
  expect(restOriginOf(backendOrigin(upstream))).toBe(rest);
});
