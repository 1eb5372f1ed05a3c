import { expect, it } from "vitest";
import { minimalEnvironment } from "../../src/process/minimal-environment.ts";

it("a child gets what it needs and what is named for it, and no secret of ours (SEC-42)", () => {
  const ours = {
    PATH: "/bin",
    HOME: "/home/me",
    EXCURSOR_TOKEN: "canary",
    AWS_SECRET: "canary",
    SHELL: "() { evil; }",
  };
  expect(minimalEnvironment(ours, { API_KEY: "given" })).toEqual({ PATH: "/bin", HOME: "/home/me", API_KEY: "given" });
});
