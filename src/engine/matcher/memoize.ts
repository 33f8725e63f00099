/** Owns the cache of a function of a pattern's source. */

export function memoize<T>(make: (source: string) => T): (source: string) => T {
  const results = new Map<string, T>();
  return (source) => {
    const known = results.get(source);
    if (known !== undefined) return known;
    const made = make(source);
    results.set(source, made);
    return made;
  };
}
