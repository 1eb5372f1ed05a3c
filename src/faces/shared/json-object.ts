import { z } from "zod";
import type { JsonObject } from "../../core/turn.ts";

/** An object that is passed on as it is, such as a JSON schema. */
export const jsonObject = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  { error: "expected an object" },
);
