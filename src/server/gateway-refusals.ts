import { ExcursorError } from "../core/errors.ts";
import { Refusal } from "./refusal.ts";

export const wrongMethod = (allow: string) => new Refusal(405, "method_not_allowed", [allow], { headers: { allow } });

export const noSuchRoute = () => new ExcursorError("unknown_path");

export const shuttingDown = () =>
  new Refusal(503, "shutting_down", [], { headers: { connection: "close", "retry-after": "1" } });

export const loop = () =>
  new Refusal(508, "gateway_loop", [], { hint: "Correct the baseURL of that entry in the setting `models`." });
