import type { JSX } from "preact";
import type { IconName } from "../parts/icon.tsx";

/** One page of the dashboard. `pages/index.ts` lists them. */
export interface Page {
  /** Its address; what follows in the address is given to its content as `rest`. */
  readonly path: `/ui${string}`;
  readonly title: string;
  readonly icon: IconName;
  readonly Content: (props: { readonly rest: string }) => JSX.Element;
}
