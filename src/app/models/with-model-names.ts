import type { ToolSource } from "../../core/driver.ts";
import type { Engine } from "../../core/engine/engine.ts";
import { withAliases } from "./with-aliases.ts";
import { type StandInOptions, withStandIns } from "./with-stand-ins.ts";
import { withToolSource } from "./with-tool-source.ts";

export interface ModelNameOptions {
  /** Whose tools a model may use if neither the request nor the model's name says so. */
  readonly tools: ToolSource;
  readonly aliases: ReadonlyMap<string, string>;
  readonly standIns: StandInOptions;
}

/**
 * Wraps the engine so that it understands every name that users may give a model. A name passes, in this order:
 *
 * 1. `with-tool-source.ts`: `:hub` at its end is taken off, and offers the hub's tools;
 * 2. `with-aliases.ts`: the user's alias is replaced by what it stands for;
 * 3. `with-stand-ins.ts`: a model that the Cursor account does not have is replaced by the closest one.
 *
 * After that the engine finds the driver by `route`, which `route-models.ts` makes of the settings.
 */
export const withModelNames = (engine: Engine, { tools, aliases, standIns }: ModelNameOptions): Engine =>
  withToolSource(withAliases(withStandIns(engine, standIns), aliases), tools);
