/** Owns the memory of what was made of a pattern's source. */

/** The same function, asked once per source for as long as the result lives. */
export function remembered<T>(make: (source: string) => T): (source: string) => T {
  const known = new Map<string, T>();
  return (source) => {
    const before = known.get(source);
    if (before !== undefined) return before;
    const made = make(source);
    known.set(source, made);
    return made;
  };
}
