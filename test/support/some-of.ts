/**
 * Returns the items of a list that a test loops over.
 *
 * @throws when there is none: the loop would assert nothing
 */
export function someOf<Item>(list: Iterable<Item>): readonly Item[] {
  const items = [...list];
  if (items.length === 0) throw new Error('an empty list: nothing would be tested');
  return items;
}
