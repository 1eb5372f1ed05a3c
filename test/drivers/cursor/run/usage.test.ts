import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { usageOf } from "../../../../src/drivers/cursor/run/usage.ts";
import { TurnEndedUpdateSchema } from "../../../../src/gen/agent/v1/interaction_pb.ts";

it("takes all figures of the turn's end, cache writes among them", () => {
  const ended = create(TurnEndedUpdateSchema, {
    inputTokens: 100n,
    outputTokens: 20n,
    cacheReadTokens: 60n,
    cacheWriteTokens: 30n,
    reasoningTokens: 5n,
  });
  expect(usageOf(ended, undefined, 0)).toEqual({
    inputTokens: 100,
    outputTokens: 20,
    cachedTokens: 60,
    cacheWrittenTokens: 30,
    reasoningTokens: 5,
    isEstimate: false,
  });
});
