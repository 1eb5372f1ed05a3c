import type { SettingsShape, ValuesOf } from "../../config/setting.ts";
import type { AccessTokens } from "../../core/access.ts";
import type { Driver } from "../../core/driver.ts";
import type { CheckpointStore } from "../../core/history/checkpoints.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import type { HttpTransport } from "../../wire/http/http.ts";
import type { ModelNames } from "./api-endpoint.ts";

/**
 * What a driver's folder gives to the application: one module, exported by its `index.ts` and listed in
 * `src/app/drivers.ts`. docs/adding-a-driver.md has a complete example.
 *
 * Every command of the command line loads all modules, since they hold the settings. So `index.ts` stays small, and
 * {@link create} imports the driver itself.
 *
 * A model's name leads to a driver in one of three ways:
 * 1. An entry of the setting `models` names the driver ({@link takesEntries}).
 * 2. The name has a form that belongs to the driver ({@link claims}).
 * 3. All other names are Cursor's. They go to the module that the setting `driver` names; a module with neither
 *    `takesEntries` nor `claims` is one of those.
 */
export interface DriverModule<Shape extends SettingsShape = SettingsShape> {
  /** What the settings call it. Lower case, words joined by hyphens. */
  readonly name: string;
  /**
   * Its settings, which the application adds to its own. The place in the tree is the key in `config.json` and gives the
   * name of the environment variable. Two modules may share a setting, if it is the same object.
   */
  readonly settings: Shape;
  /** An entry of `models` may name it. It is created once for each such entry. */
  readonly takesEntries?: boolean;
  /** Returns whether a model's name belongs to this driver by its form, such as `acp:…`. */
  claims?(model: string): boolean;
  /**
   * Creates the driver. It is called when the gateway starts, so it contacts no upstream and starts no program; the first
   * request does, or {@link Driver.prewarm}. It throws an `ExcursorError` of the kind `config` for settings that cannot
   * work, and then the gateway does not start.
   */
  create(context: DriverContext<ValuesOf<Shape>>): Driver | Promise<Driver>;
}

/** What the application gives to a driver. A driver takes nothing from anywhere else. */
export interface DriverContext<Values> extends DriverServices {
  /** The values of the module's own settings. */
  readonly settings: Values;
  /** The entry that the driver is created for, where the module takes entries. */
  readonly entry: DriverEntry | undefined;
}

/** The part of the context that all drivers share. */
export interface DriverServices extends DriverStores {
  /** The origin of Cursor's backend, or of the one that the settings name instead. */
  readonly origin: string;
  /** HTTP in both versions. The application closes them. */
  readonly transports: { readonly h1: HttpTransport; readonly h2: HttpTransport };
  /** The variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Cursor accounts of callers that bring no token. */
  readonly access: AccessTokens;
  /** Returns whether a request is the gateway owner's own. Drivers that act on this machine serve nobody else. */
  isOwner(principal: Principal): boolean;
  /** Names this gateway in requests to upstreams that may be gateways too. */
  readonly hopId: string;
  readonly log: DriverLog;
  /** Takes every secret that the driver's settings lead to, so that no log line and no error shows it. */
  onSecret(secret: Secret): void;
}

/** What drivers keep beyond the life of the process. */
export interface DriverStores {
  readonly checkpoints: CheckpointStore;
  /** Which encoding of its name each of Cursor's models takes. */
  readonly encodings: { get(key: string): string | undefined; set(key: string, value: string): void };
}

/** Keeps nothing. */
export const NO_STORES: DriverStores = {
  checkpoints: { find: () => undefined, put: () => {} },
  encodings: { get: () => undefined, set: () => {} },
};

/** The log, as far as drivers need it. Fields and messages never hold content of a conversation. */
interface DriverLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** An entry of the setting `models` that names the driver. */
export interface DriverEntry {
  /** Its name in the settings: a model, or a pattern such as `local/*`. */
  readonly name: string;
  /** Translates between the clients' names of its models and the upstream's. */
  readonly names: ModelNames;
  /** Instead of the driver's own setting. */
  readonly baseURL?: string | undefined;
  /** The environment variable that holds the key for it. */
  readonly keyVariable?: string | undefined;
  /** The effort for requests that name none. */
  readonly effort?: string | undefined;
}
