import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { ModelInfo } from "../../core/driver.ts";

/** The choice of the model, as ACP has it. The current model is offered even if no driver lists it, such as `auto`. */
export function modelOptions(models: readonly ModelInfo[], current: string): SessionConfigOption[] {
  const options = models.map(({ id, displayName }) => ({ value: id, name: displayName }));
  if (!models.some(({ id }) => id === current)) options.unshift({ value: current, name: current });
  return [{ id: "model", name: "Model", category: "model", type: "select", currentValue: current, options }];
}
