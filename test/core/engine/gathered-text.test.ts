import fc from "fast-check";
import { expect, it } from "vitest";
import { GatheredText } from "../../../src/core/engine/gathered-text.ts";

it("is its pieces in their order, however many they are, and begins anew once it was taken", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 1000 }), (pieces) => {
      const text = new GatheredText();
      for (const piece of pieces) text.add(piece);
      expect(text.take()).toBe(pieces.join(""));
      expect(text.take()).toBe("");
    }),
  );
});
