/** Groups elements by a key: the groups in the order of their first elements, each in the order of the list. */
export function groupBy<Key, Element>(
  elements: Iterable<Element>,
  keyOf: (element: Element) => Key,
): Map<Key, [Element, ...Element[]]> {
  const groups = new Map<Key, [Element, ...Element[]]>();
  for (const element of elements) {
    const key = keyOf(element);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [element]);
    else group.push(element);
  }
  return groups;
}
