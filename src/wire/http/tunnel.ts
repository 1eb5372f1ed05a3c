import { connect as connectTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { ExcursorError } from "../../core/errors.ts";
import { awaitedLater } from "../../core/ignored-failures.ts";
import { connectionClosed, fromNodeError } from "./network-errors.ts";
import type { HttpProxy } from "./proxy.ts";

/** Limit on the head of the proxy's response. */
const MAX_HEAD_BYTES = 16 * 1024;
const HEAD_END = "\r\n\r\n";

/**
 * Opens a connection to `host:port` through a proxy. It can be written to at once: data waits until the tunnel is up. A
 * failure before that is the stream's error.
 */
export function openTunnel(proxy: HttpProxy, host: string, port: number): Duplex {
  const socket = connectTo(new URL(proxy.origin));
  const begin = Promise.withResolvers<void>();
  void awaitedLater(begin.promise);
  const tunnel = new Duplex({
    read: () => socket.resume(),
    write: (chunk, _encoding, done) => {
      begin.promise.then(() => socket.write(chunk, done), done);
    },
    final: (done) => {
      begin.promise.then(() => socket.end(done), done);
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  const fail = (error: ExcursorError) => {
    begin.reject(error);
    tunnel.destroy(error);
  };

  let head: Buffer = Buffer.alloc(0);
  const readHead = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(HEAD_END);
    if (end === -1) {
      if (head.length > MAX_HEAD_BYTES) fail(refused(proxy, host, "an answer that is too long"));
      return;
    }
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString("latin1", 0, end))?.[1] ?? "an answer that is not HTTP";
    if (!status.startsWith("2")) {
      fail(status === "407" ? wrongCredentials(proxy) : refused(proxy, host, status));
      return;
    }
    socket.off("data", readHead);
    socket.on("data", (data: Buffer) => {
      if (!tunnel.push(data)) socket.pause();
    });
    const rest = head.subarray(end + HEAD_END.length);
    if (rest.length > 0) tunnel.push(rest);
    begin.resolve();
  };
  socket.on("data", readHead);
  socket.on("error", (error) => fail(throughProxy(fromNodeError(error, proxy.origin))));
  socket.on("end", () => tunnel.push(null));
  socket.on("close", () => {
    begin.reject(throughProxy(connectionClosed(proxy.origin)));
    begin.promise.then(
      () => tunnel.destroy(),
      (error) => tunnel.destroy(error),
    );
  });

  const target = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const authorization = proxy.authorization && `proxy-authorization: ${proxy.authorization.reveal()}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${authorization ?? ""}\r\n`);
  return tunnel;
}

function connectTo({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "http:") return connectTcp({ host, port: Number(port) || 80, noDelay: true });
  return connectTls({ host, port: Number(port) || 443, servername: host, ALPNProtocols: ["http/1.1"] }).setNoDelay();
}

const HINT = "Check HTTPS_PROXY, and whether this host should be in NO_PROXY.";

const throughProxy = (error: ExcursorError): ExcursorError =>
  error.with({ message: `The proxy ${error.message}`, hint: HINT });

const refused = ({ origin }: HttpProxy, host: string, answer: string): ExcursorError =>
  new ExcursorError("proxy_refused", [new URL(origin).host, host, answer], { hint: HINT });

const wrongCredentials = ({ origin }: HttpProxy): ExcursorError =>
  new ExcursorError("proxy_credentials", [new URL(origin).host], { retryable: false });
