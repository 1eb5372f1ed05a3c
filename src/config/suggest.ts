/** Returns the known name that is most similar to `given`, if any is similar enough. */
export function suggest(given: string, known: readonly string[]): string | undefined {
  const near = known
    .map((name) => ({ name, distance: editDistance(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)));
  return near.sort((a, b) => a.distance - b.distance)[0]?.name;
}

/** Counts the characters to insert, delete, replace or swap to get from one text to the other. */
function editDistance(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 8) return Number.POSITIVE_INFINITY;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, at(row - 1, column - 1) + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwap) cost = Math.min(cost, at(row - 2, column - 2) + 1);
      rows[row]?.push(cost);
    }
  }
  return at(from.length, to.length);
}
