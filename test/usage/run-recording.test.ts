import { expect, it } from "vitest";
import type { RunRecord } from "../../src/usage/record/records.ts";
import { UsageRecorder } from "../../src/usage/record/usage-recorder.ts";

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
