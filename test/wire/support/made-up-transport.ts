import type { HttpExchange, HttpHandler, HttpRequest, HttpTransport } from "../../../src/wire/http/http.ts";

/** A transport that is the test itself: it is told of each exchange that is opened, and may take what is done with it. */
export const madeUpTransport = (
  onOpen: (request: HttpRequest, handler: HttpHandler) => Partial<HttpExchange> | undefined,
): HttpTransport => ({
  open: (request, handler) => ({
    write: () => true,
    end() {},
    pause() {},
    resume() {},
    abort() {},
    ...onOpen(request, handler),
  }),
  close: async () => {},
  destroy() {},
});
