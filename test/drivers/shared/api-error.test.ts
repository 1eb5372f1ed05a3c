import { expect, it } from "vitest";
import { apiError } from "../../../src/drivers/shared/api/api-error.ts";

it("a loop that another gateway has found is a failure of the upstream, and says what to do", () => {
  const said = { error: { type: "api_error", code: "gateway_loop", message: "This request has been here before." } };
  expect(apiError(said, "b.example", { status: 508, headers: {} })).toMatchObject({
    kind: "upstream-failed",
    code: "gateway_loop",
    retryable: false,
    message: "b.example leads back to a gateway that this request has already passed.",
    hint: expect.stringContaining("`models`"),
  });
});
