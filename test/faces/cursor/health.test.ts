import { expect, it } from "vitest";
import { FACE_HEALTH_PATH } from "../../../src/faces/cursor/index.ts";
import { setUpFace } from "./support/stage.ts";

it("tells a balancer to send no more calls to a gateway that stops (REL-47)", async () => {
  let isDraining = false;
  const { url } = await setUpFace("http://127.0.0.1:9", { isDraining: () => isDraining });
  const status = async () => (await fetch(url + FACE_HEALTH_PATH)).status;
  expect(await status()).toBe(200);
  isDraining = true;
  expect(await status()).toBe(503);
});
