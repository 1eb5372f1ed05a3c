import type { IncomingHttpHeaders } from "node:http";
import type { Face } from "../faces/shared/face.ts";
import { type AnswerRouteOptions, answerRoute } from "./routes/answer-route.ts";
import { type ModelLister, type ModelRenderer, modelsRoutes } from "./routes/models-routes.ts";
import type { Route } from "./routes/route.ts";

/** One public dialect on the listener: its words, where it is asked, and what else it offers. */
export interface Dialect {
  readonly face: Face;
  /** Where turns are asked for. */
  readonly path: string;
  /** `GET /v1/models` in its words. */
  readonly models?: ModelRenderer;
  /** What stands before that, if anything does. */
  readonly prefix?: string;
  /** Tells its requests from others on a path that several dialects share, or that nobody has. Absent: nothing does. */
  readonly isSpokenBy?: (headers: IncomingHttpHeaders) => boolean;
  /** What it has beside turns and models. */
  readonly routes?: readonly Route[];
}

/** The first is for requests that do not tell which one they are in. */
export type Dialects = readonly [Dialect, ...Dialect[]];

type Service = Omit<AnswerRouteOptions, "path" | "face" | "engine"> & {
  readonly engine: AnswerRouteOptions["engine"] & ModelLister;
};

export function dialectRoutes(dialect: Dialect, service: Service): readonly Route[] {
  const { face, path, models, prefix = "", isSpokenBy, routes } = dialect;
  const shared = models ? modelsRoutes(`${prefix}/v1/models`, face, service.engine, models) : [];
  return [
    answerRoute({ ...service, path, face }),
    ...shared.map((route) => (isSpokenBy ? { ...route, isFor: isSpokenBy } : route)),
    ...(routes ?? []),
  ];
}

/** In whose words to answer a request that no route is for. */
export const faceFor = (dialects: Dialects, headers: IncomingHttpHeaders): Face =>
  (dialects.find(({ isSpokenBy }) => isSpokenBy?.(headers)) ?? dialects[0]).face;
