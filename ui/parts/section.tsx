import type { ComponentChildren } from "preact";

interface SectionProps {
  readonly title: string;
  /** Beside the title, such as a count. */
  readonly note?: ComponentChildren;
  /** Buttons at the end of the title's line. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export const Section = ({ title, note, actions, children }: SectionProps) => (
  <section class="section">
    <div class="section-head">
      <h2>{title}</h2>
      {note !== undefined && <span class="muted">{note}</span>}
      {actions && <div class="actions">{actions}</div>}
    </div>
    {children}
  </section>
);
