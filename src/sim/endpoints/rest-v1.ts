import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { type Account, authenticate } from "../accounts.ts";
import type { Route, Routes } from "../backend.ts";
import type { SimExchange } from "../sim-exchange.ts";
import { identityOf } from "./identity.ts";
import { variantsOf } from "./models/model-variants.ts";
import { MODELS, type ModelParameter, type SimModel } from "./models/sim-models.ts";

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheWriteTokens: 0, cacheReadTokens: 0, totalTokens: 0 } as const;
const NO_COST = { rawCostCents: 0, chargedCents: 0 } as const;

/** Usage is zero for any agent and run, because none is stored. */
const USAGE = { totalUsage: NO_TOKENS, cost: NO_COST, runs: [] } as const;

/** The public REST interface, as far as a local agent of the official client needs it. */
export const restV1Routes: Routes = {
  "GET /v1/models": restRoute(() => ({ items: MODELS.map(listItem) })),
  "GET /v1/me": restRoute((account) => {
    const { userId, email } = identityOf(account);
    return {
      apiKeyName: "Simulated key",
      userId,
      userEmail: email,
      userFirstName: "Simulated",
      userLastName: "User",
      createdAt: "2026-01-01T00:00:00.000Z",
    };
  }),
  "GET /v1/repositories": restRoute(() => ({ items: [] })),
  "GET /v1/agents/*": restRoute((_, { path }) => {
    if (/^\/v1\/agents\/[^/]+\/usage$/.test(path)) return USAGE;
    throw new ConnectFailure("not_found", `There is no ${path} here: cloud agents are not simulated.`);
  }),
};

/** Errors have another form here: one object `error`, without details. */
function restRoute(answer: (account: Account, exchange: SimExchange) => unknown): Route {
  return (exchange) => {
    try {
      exchange.respondJson(200, answer(authenticate(exchange), exchange));
    } catch (error) {
      if (!(error instanceof ConnectFailure)) throw error;
      const message = error.details?.detail ?? error.message;
      exchange.respondJson(error.httpStatus, { error: { code: error.code, message } });
    }
  };
}

function listItem(model: SimModel) {
  const hasParameters = model.parameters.length > 0;
  return {
    id: model.id,
    displayName: model.displayName,
    description: model.description,
    ...(model.aliases.length > 0 ? { aliases: model.aliases } : {}),
    ...(hasParameters ? { parameters: model.parameters.map(parameterDefinition) } : {}),
    ...(hasParameters
      ? {
          variants: variantsOf(model).map(({ params, displayName, isDefault }) => ({ params, displayName, isDefault })),
        }
      : {}),
  };
}

const parameterDefinition = ({ id, displayName, values }: ModelParameter) => ({
  id,
  displayName,
  values: values.map(({ value, label }) => (label === "" ? { value } : { value, displayName: label })),
});
