import { connectPage } from "./connect.tsx";
import { conversationsPage } from "./conversations.tsx";
import { healthPage } from "./health.tsx";
import { keysPage } from "./keys.tsx";
import { modelsPage } from "./models.tsx";
import { nowPage } from "./now.tsx";
import type { Page } from "./page.ts";
import { playgroundPage } from "./playground.tsx";
import { toolsPage } from "./tools.tsx";

/** In the order of the navigation. */
export const PAGES: readonly Page[] = [
  nowPage,
  conversationsPage,
  playgroundPage,
  modelsPage,
  connectPage,
  toolsPage,
  keysPage,
  healthPage,
];
