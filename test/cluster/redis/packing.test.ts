import { describe, expect, it } from "vitest";
import { Packing } from "../../../src/cluster/redis/packing.ts";
import { Secret } from "../../../src/core/secret.ts";

const packing = new Packing(new Secret("a secret"), "values");

describe("values for Redis", () => {
  it.each([["short"], ["long ".repeat(10_000)], [""]])("come back as they were (%#)", async (text) => {
    const packed = await packing.pack(text, "place");
    expect((await packing.unpack(packed, "place"))?.toString()).toBe(text);
    if (text !== "") expect(packed.includes(text.slice(0, 10))).toBe(false);
  });

  it("are compressed if they are long", async () => {
    expect((await packing.pack("long ".repeat(10_000), "place")).length).toBeLessThan(2000);
  });

  it("cannot be moved, changed, cut, or read with another secret or for another purpose (SEC-48)", async () => {
    const packed = await packing.pack("words", "place");
    const changed = Buffer.from(packed);
    changed[packed.length - 1] = (changed[packed.length - 1] ?? 0) ^ 1;
    expect(await packing.unpack(packed, "another place")).toBeUndefined();
    expect(await packing.unpack(changed, "place")).toBeUndefined();
    for (let length = 0; length < packed.length; length++) {
      expect(await packing.unpack(packed.subarray(0, length), "place")).toBeUndefined();
    }
    expect(await new Packing(new Secret("another"), "values").unpack(packed, "place")).toBeUndefined();
    expect(await new Packing(new Secret("a secret"), "keys").unpack(packed, "place")).toBeUndefined();
    expect(await packing.unpack("text", "place")).toBeUndefined();
  });
});
