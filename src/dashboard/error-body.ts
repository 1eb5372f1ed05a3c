import { httpStatus } from "../faces/shared/errors/http-errors.ts";
import type { FaceModule } from "../faces/shared/face-module.ts";

/** Formats the errors of the dashboard's routes. */
export const DASHBOARD_ERRORS: FaceModule = {
  name: "dashboard",
  error: (error, _requestId, status = httpStatus(error.kind)) => ({
    status,
    headers: { "cache-control": "no-store" },
    body: { error: { code: error.code, message: error.message, ...(error.hint && { hint: error.hint }) } },
  }),
  routes: () => [],
};
