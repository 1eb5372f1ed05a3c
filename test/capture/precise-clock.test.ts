import { expect, test } from "vitest";
import { createPreciseClock } from "../../src/capture/precise-clock.ts";

function setUp() {
  const time = { wall: 1_000_000, monotonic: 50.25 };
  const now = createPreciseClock(
    () => time.wall,
    () => time.monotonic,
  );
  return { time, now };
}

test("has fractions of milliseconds between those of the wall clock", () => {
  const { time, now } = setUp();
  time.monotonic += 0.5;
  expect(now()).toBe(1_000_000.5);
});

test("follows the wall clock after the machine has slept, and when the time is corrected", () => {
  const { time, now } = setUp();
  time.wall += 3_600_000;
  expect(now()).toBe(4_600_000);
  time.monotonic += 10;
  time.wall += 15;
  expect(now()).toBe(4_600_015);
});

test("stands still where it would go back a little, and goes back where the time was wrong", () => {
  const { time, now } = setUp();
  const first = now();
  time.wall -= 500;
  expect(now()).toBe(first);
  time.wall -= 3_600_000;
  expect(now()).toBe(time.wall);
});
