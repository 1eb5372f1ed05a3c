import type { SettingsShape, ValuesOf } from "../../config/setting.ts";
import type { AccessTokens } from "../../core/access/access.ts";
import type { Driver } from "../../core/driver.ts";
import type { CheckpointStore } from "../../core/history/checkpoints.ts";
import type { OwnerPrompts } from "../../core/owner-prompts.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import type { ModelNames } from "./api/api-endpoint.ts";

/**
 * A driver, as the application registers it: exported by the `index.ts` of its folder and listed in
 * `src/app/drivers.ts`. docs/adding-a-driver.md has a complete example.
 *
 * Every command of the command line loads all modules, since they hold the settings. So `index.ts` stays small, and
 * {@link create} imports the driver itself.
 *
 * A model's name leads to a driver in one of three ways:
 * - An entry of the setting `models` names the driver ({@link takesEntries}).
 * - The name has a form that belongs to the driver ({@link claims}).
 * - All other names are Cursor's. The setting `driver` chooses among the modules with neither `takesEntries` nor
 * `claims`.
 */
export interface DriverModule<Shape extends SettingsShape = SettingsShape> {
  /** Its name in the settings. Lower case, words joined by hyphens. */
  readonly name: string;
  /**
   * Its settings, which are merged into the application's. The path in the tree is the key in `config.json` and
   * determines the environment variable. Two modules may share a setting if it is the same object.
   */
  readonly settings: Shape;
  /** True if an entry of `models` may name it. It is created once for each entry. */
  readonly takesEntries?: boolean;
  /** Returns whether a model's name belongs to this driver by its form, such as `acp:…`. */
  claims?(model: string): boolean;
  /**
   * Creates the driver when the gateway starts. Contacts no upstream and starts no program; the first request or
   * {@link Driver.prewarm} does. Throws an `ExcursorError` of kind `config` for invalid settings; the gateway then does
   * not start.
   */
  create(context: DriverContext<ValuesOf<Shape>>): Driver | Promise<Driver>;
}

/** Everything that the application gives to a driver. */
export interface DriverContext<Values> extends DriverServices {
  readonly settings: Values;
  /** The entry that the driver is created for. Undefined unless the module takes entries. */
  readonly entry: DriverEntry | undefined;
}

/** The part of the context that all drivers share. */
export interface DriverServices extends DriverStores {
  /** The origin of Cursor's backend, or its replacement in the settings. */
  readonly origin: string;
  /** Both HTTP versions. The application closes them. */
  readonly transports: { readonly h1: HttpTransport; readonly h2: HttpTransport };
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Cursor accounts for callers without a token. */
  readonly access: AccessTokens;
  /** Returns whether the gateway's owner sent the request. Drivers that act on this machine serve only the owner. */
  isOwner(principal: Principal): boolean;
  /** Asks the owner what an agent may do, if the client of the turn cannot. Absent: nobody is asked then. */
  readonly prompts?: OwnerPrompts | undefined;
  /** Identifies this gateway in requests to upstreams that may be gateways. */
  readonly hopId: string;
  readonly log: DriverLog;
  /** Registers a secret with the redactor. */
  onSecret(secret: Secret): void;
}

/** Persistent stores. */
export interface DriverStores {
  readonly checkpoints: CheckpointStore;
  /** The encoding that each of Cursor's models accepts. */
  readonly encodings: { get(key: string): string | undefined; set(key: string, value: string): void };
}

export const NO_STORES: DriverStores = {
  checkpoints: { find: () => undefined, put: () => {}, forget: () => {} },
  encodings: { get: () => undefined, set: () => {} },
};

/** Fields and messages must not hold content of a conversation. */
interface DriverLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** An entry of the setting `models` that names the driver. */
export interface DriverEntry {
  /** Its name in the settings: a model, or a pattern such as `local/*`. */
  readonly name: string;
  readonly names: ModelNames;
  /** Overrides the driver's own setting. */
  readonly baseURL?: string | undefined;
  /** The environment variable with the key. */
  readonly keyVariable?: string | undefined;
  /** The effort for requests that name none. */
  readonly effort?: string | undefined;
  /** Which of its APIs to use, if the upstream has several. */
  readonly api?: "responses" | "chat" | undefined;
}
