import { type Gateway, type GatewayOptions, startGateway } from "../server/gateway.ts";
import { BRIDGE_FACES } from "./faces.ts";

export type BridgeOptions = Pick<
  GatewayOptions,
  "port" | "key" | "limits" | "engine" | "faceContext" | "log" | "redactor"
> & {
  /** Lets the editor's own pages in without a key: extensions of other people's send none. */
  readonly isCompatible?: boolean | undefined;
};

/** Where the pages of the IDE come from. */
const IDE_ORIGIN = "vscode-file://vscode-app";

/** Starts the listener for the Cursor IDE: the gateway's own, on loopback, with another key and nothing but agents. */
export const startBridge = (options: BridgeOptions): Promise<Gateway> =>
  startGateway({
    ...options,
    host: "127.0.0.1",
    allowsTokens: false,
    hosts: [],
    origins: [],
    page: { origin: IDE_ORIGIN, header: "x-excursor-bridge", isKeyless: options.isCompatible },
    faces: BRIDGE_FACES,
  });
