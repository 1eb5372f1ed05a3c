/** What the service runs, as this user. */
export interface ServicePlan {
  /** Node, by its absolute path: a service has another PATH than a shell. */
  readonly node: string;
  /** bin/excursor.js, by its absolute path. */
  readonly program: string;
  /** For `excursor serve`. */
  readonly flags: readonly string[];
  /** Its variables. A service has none of the shell's. */
  readonly environment: Readonly<Record<string, string>>;
}
