import { z } from "zod";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { JsonObject } from "../../core/turn.ts";

/** An object that is passed on as it is, such as a JSON schema. */
export const jsonObject = z.custom<JsonObject>(isJsonObject, { error: "expected an object" });
