import { isIP, type LookupFunction } from "node:net";
import { connect, type TLSSocket } from "node:tls";

export interface PinnedTarget {
  readonly host: string;
  readonly port: number;
  /** The only addresses to connect to; they have been checked. */
  readonly addresses: readonly string[];
}

/** Connects to the given addresses only. The host's name is used for its certificate only. */
export function connectPinned({ host, port, addresses }: PinnedTarget, ca?: string | Buffer): TLSSocket {
  return connect({
    host,
    port,
    lookup: pinnedLookup(addresses),
    ALPNProtocols: ["http/1.1"],
    ...(isIP(host) ? {} : { servername: host }),
    ...(ca === undefined ? {} : { ca }),
  });
}

function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const [first] = all;
    if (options.all) callback(null, all);
    else if (first) callback(null, first.address, first.family);
    else callback(new Error("no address"), "");
  };
}
