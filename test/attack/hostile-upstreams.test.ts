import { it } from "vitest";
import { fuzzBackend } from "./support/fuzz-backend.ts";
import { fuzzUpstreams, setUpHostileUpstream } from "./support/fuzz-upstreams.ts";
import { fuzzBudget } from "./support/seed.ts";

it("no answer of a public API fails the gateway, hangs it or stays open (FUZ-05)", async () => {
  const stage = await setUpHostileUpstream();
  await fuzzUpstreams(stage, fuzzBudget(10_000, 45_000));
});

it("no damage to what Cursor's backend says fails the gateway, and nothing stays open (FUZ-02)", async () => {
  await fuzzBackend(fuzzBudget(2000, 30_000));
});
