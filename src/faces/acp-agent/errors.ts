import { RequestError } from "@agentclientprotocol/sdk";
import { ExcursorError } from "../../core/errors.ts";
import { errorMessage } from "../shared/errors/error-message.ts";

export function throwRequestError(thrown: unknown): never {
  if (thrown instanceof RequestError) throw thrown;
  const error = ExcursorError.from(thrown);
  if (error.kind === "unauthenticated") throw RequestError.authRequired(undefined, error.message);
  throw new RequestError(-32_603, errorMessage(error, "acp"), { code: error.code });
}
