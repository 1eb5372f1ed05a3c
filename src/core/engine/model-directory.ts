import type { Driver, ModelInfo, SlashCommand } from "../driver.ts";
import { ExcursorError } from "../errors.ts";
import type { Principal } from "../turn.ts";

/** Finds the driver of a model, and lists the models of all drivers. */
export class ModelDirectory {
  readonly #drivers: ReadonlyMap<string, Driver>;
  readonly #route: (model: string) => string | undefined;

  /** `route` gives the name of the driver that answers for a model. */
  constructor(drivers: ReadonlyMap<string, Driver>, route: (model: string) => string | undefined) {
    this.#drivers = drivers;
    this.#route = route;
  }

  /** Returns the name of the driver that answers for a model. */
  driverName(model: string): string | undefined {
    return this.#route(model);
  }

  findDriver(model: string): Driver | undefined {
    return this.#drivers.get(this.#route(model) ?? "");
  }

  /** The same, but throws `model-not-found` if no driver answers for the model. */
  driverOf(model: string): Driver {
    const driver = this.findDriver(model);
    if (driver) return driver;
    throw unknownModel(model);
  }

  /** Drivers that fail are left out; if all fail, their error is thrown. */
  async listModels(principal: Principal, signal: AbortSignal): Promise<readonly ModelInfo[]> {
    const lists = [...this.#drivers].map(async ([name, driver]) => {
      const models = await driver.listModels(principal, signal);
      // A name that is routed to another driver is that driver's to list.
      return models.filter(({ id }) => this.#route(id) === name);
    });
    const settled = await Promise.allSettled(lists);
    const listed = settled.flatMap((list) => (list.status === "fulfilled" ? [list.value] : []));
    if (listed.length === 0) await Promise.all(lists);
    return listed.flat();
  }

  async findModel(name: string, principal: Principal, signal: AbortSignal): Promise<ModelInfo> {
    const driver = this.driverOf(name);
    if (driver.findModel) return driver.findModel(name, principal, signal);
    const listed = (await driver.listModels(principal, signal)).find((model) => model.id === name);
    if (listed) return listed;
    throw unknownModel(name);
  }

  async listCommands(model: string, principal: Principal): Promise<readonly SlashCommand[]> {
    return (await this.driverOf(model).listCommands?.(model, principal)) ?? [];
  }
}

const unknownModel = (name: string): ExcursorError =>
  new ExcursorError("model-not-found", `The model ${JSON.stringify(name)} does not exist here.`, { field: "model" });
