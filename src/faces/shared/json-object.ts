import { z } from "zod";
import type { JsonObject } from "../../core/turn.ts";

/** An object of the client's own, such as a JSON schema: it passes by reference, unread. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  { error: "expected an object" },
);
