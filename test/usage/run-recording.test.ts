import { expect, it } from "vitest";
import type { Usage } from "../../src/core/events.ts";
import { NO_USAGE } from "../../src/core/rules/usage-estimate.ts";
import type { RunRecord } from "../../src/usage/record/records.ts";
import { UsageRecorder } from "../../src/usage/record/usage-recorder.ts";
import { aTurn } from "../core/support/turns.ts";

const END = {
  principalId: "owner",
  keyName: "owner",
  face: "f",
  route: "/",
  client: "c",
  status: 200,
  errorCode: undefined,
};

it("a record of a run stays as it is when another request goes on with the run", () => {
  const runs: RunRecord[] = [];
  const recorder = new UsageRecorder({
    sinks: [{ request: () => {}, toolCall: () => {}, run: (record) => runs.push(record) }],
  });
  const first = recorder.begin("a", performance.now());
  const watch = first.opens();
  watch.ended("parked");
  recorder.end(first, END);
  // The follow-up may never be recorded, if the gateway is killed.
  const second = recorder.begin("b", performance.now());
  second.goesOn(watch);
  expect(runs.map(({ requestIds }) => requestIds)).toEqual([["a"]]);
  watch.ended("completed");
  recorder.end(second, END);
  expect(runs.map(({ requestIds }) => requestIds)).toEqual([["a"], ["a", "b"]]);
  expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
});

it("a correction of a run is told to the gateway that has forwarded its last request, before and after that is over", () => {
  const recorder = new UsageRecorder({ sinks: [] });
  const told: Usage[] = [];
  const first = recorder.begin("a", performance.now());
  const watch = first.opens();
  const forwarded = recorder.beginForwarded("b", aTurn(), (difference) => told.push(difference));
  forwarded.meter.goesOn(watch);
  const difference = { ...NO_USAGE, inputTokens: 5 };
  watch.corrected(difference);
  forwarded.end();
  watch.corrected(difference);
  expect(told).toEqual([difference, difference]);
});
