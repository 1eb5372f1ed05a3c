/**
 * Who is there just now: joined and left at random, and seldom looked through.
 *
 * Not a `Set`. As members come and go, V8 replaces a set's table again and again, in the old generation once it has
 * lived there; each table that is left behind keeps the members it had until the next full collection, and with a
 * request all that hangs on it: a fifth of what survived a scavenge under short requests (bench/README.md).
 */
export class Roster<Member extends object> {
  readonly #members: { readonly member: Member; place: number }[] = [];

  get size(): number {
    return this.#members.length;
  }

  /** Gives the way to leave again; to be used once. */
  join(member: Member): () => void {
    const entry = { member, place: this.#members.length };
    this.#members.push(entry);
    return () => {
      const last = this.#members.pop();
      if (!last || last === entry) return;
      // The last takes the place that has become free.
      last.place = entry.place;
      this.#members[entry.place] = last;
    };
  }

  *[Symbol.iterator](): Iterator<Member> {
    for (const { member } of [...this.#members]) yield member;
  }
}
