import { it } from "vitest";
import { fuzzUpstreams, setUpHostileUpstream } from "./support/fuzz-upstreams.ts";
import { fuzzBudget } from "./support/seed.ts";

it("no answer of a public API fails the gateway, hangs it or stays open (FUZ-05)", async () => {
  const stage = await setUpHostileUpstream();
  await fuzzUpstreams(stage, fuzzBudget(10_000, 60_000));
});
