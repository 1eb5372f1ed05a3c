import { startGateway } from "../server/gateway.ts";
import type { Gateway, GatewayOptions } from "../server/gateway-options.ts";
import { FACES } from "./faces.ts";

export type BridgeOptions = Pick<
  GatewayOptions,
  | "port"
  | "key"
  | "limits"
  | "admission"
  | "engine"
  | "faceContext"
  | "usage"
  | "metrics"
  | "traces"
  | "log"
  | "redactor"
> & {
  /** Lets the editor's own pages in without a key, for third-party extensions that send none. */
  readonly isCompatible?: boolean | undefined;
};

const IDE_ORIGIN = "vscode-file://vscode-app";

/** Starts the listener for the Cursor IDE: on loopback, with its own key and only the bridge's face. */
export const startBridge = (options: BridgeOptions): Promise<Gateway> =>
  startGateway({
    ...options,
    host: "127.0.0.1",
    allowsTokens: false,
    hosts: [],
    origins: [],
    page: { origin: IDE_ORIGIN, header: "x-excursor-bridge", isKeyless: options.isCompatible },
    faces: FACES.bridge,
  });
