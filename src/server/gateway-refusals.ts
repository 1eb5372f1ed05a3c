import { ExcursorError } from "../core/errors.ts";
import { Refusal } from "./refusal.ts";

export const wrongMethod = (allow: string) =>
  new Refusal(405, "invalid-request", `This path only accepts ${allow}.`, {
    code: "method_not_allowed",
    headers: { allow },
  });

export const noSuchRoute = () =>
  new ExcursorError("not-found", "This path does not exist.", {
    code: "unknown_path",
    hint: "The base URL ends in /v1 for OpenAI clients, and has no /v1 for Anthropic clients.",
  });

export const shuttingDown = () =>
  new Refusal(503, "busy", "The gateway is shutting down.", {
    code: "shutting_down",
    hint: "Try again in a moment.",
    headers: { connection: "close", "retry-after": "1" },
  });

export const loop = () =>
  new Refusal(
    508,
    "config",
    "This request has already passed this gateway: a model entry of a gateway leads back here.",
    {
      code: "gateway_loop",
      hint: "Correct the baseURL of that entry in the setting `models`.",
    },
  );
