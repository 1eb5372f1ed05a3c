/** Outlines on a grid of 20, drawn with the colour of the text. */
const PATHS = {
  pulse: "M2 10h4l2-6 4 12 2-6h4",
  threads: "M4 5h12v8H9l-4 3v-3H4z",
  cube: "M10 2.5 16.5 6v8L10 17.5 3.5 14V6zM3.5 6 10 9.5 16.5 6M10 9.5v8",
  key: "M12.5 3.5a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM9.7 10.3 3.5 16.5M5.5 14.5l2 2",
  heart: "M3 10h3.5l1.5-3 3 6 1.5-3H17M10 17a7 7 0 1 1 0-14 7 7 0 0 1 0 14z",
  play: "M6 4v12l10-6z",
  plug: "M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v3",
  tool: "M12 3a4 4 0 0 0-3.7 5.5L3.5 13.3a1.6 1.6 0 0 0 2.3 2.3l4.8-4.8A4 4 0 0 0 16 6l-2.5 2.5L11.5 8l-.5-2L13.500 3.500A4 4 0 0 0 12 3z",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
