import type { ComponentChildren } from "preact";

export interface Column<T> {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
  /** Left out on small screens. */
  readonly isWide?: boolean;
  cell(row: T): ComponentChildren;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Shown instead of an empty table: what is missing, and what to do. */
  readonly empty: ComponentChildren;
}

/** A table that scrolls sideways by itself where the screen is too narrow. */
export function Table<T>({ label, columns, rows, keyOf, empty }: TableProps<T>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  const classOf = ({ isNumber, isWide }: Column<T>) =>
    [isNumber && "number", isWide && "wide"].filter(Boolean).join(" ");
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
