import { installWorkbench } from "../../../scripts/install-workbench.ts";

export const setup = (): void => installWorkbench();
