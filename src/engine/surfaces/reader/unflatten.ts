/**
 * Owns the conversion of flattened attributes, one per leaf, to the messages that they were:
 * `llm.input_messages.0.message.role` … → `[{role, …}]`.
 *
 * Indexes are the sender's: only their order counts. Must be linear in the number of attributes.
 */
import type { JsonObject, JsonValue } from '../../../model/json.ts';

const INDEX = /^\d{1,9}$/;

/** Depth of members; the rest of a deeper key is one name. Bounds the recursion. */
const DEPTH = 64;

/** A member under construction: a leaf, or members by name. */
type Node = JsonValue | Map<string, Node>;

/**
 * @param entries key (without the prefix) and value of every attribute under the prefix; those
 *   whose key does not begin with a number are left out
 * @param wrappers members that are replaced by what is inside them
 * @param renamed member → the name to use instead
 */
export function unflatten(
  entries: Iterable<readonly [string, JsonValue]>,
  wrappers: readonly string[] = [],
  renamed: Readonly<Record<string, string>> = {},
): JsonValue[] {
  const names = new Map(Object.entries(renamed));
  const root = new Map<string, Node>();
  for (const [key, value] of entries) {
    const path = split(key)
      .filter((name) => !wrappers.includes(name))
      .map((name) => names.get(name) ?? name);
    const first = path[0];
    if (first !== undefined && INDEX.test(first)) put(root, path, value);
  }
  const list = toJson(root);
  return Array.isArray(list) ? list : [];
}

function split(key: string): string[] {
  const path = key.split('.');
  if (path.length <= DEPTH) return path;
  return [...path.slice(0, DEPTH - 1), path.slice(DEPTH - 1).join('.')];
}

function put(root: Map<string, Node>, path: readonly string[], value: JsonValue): void {
  let node = root;
  for (const name of path.slice(0, -1)) {
    const next = node.get(name);
    if (next instanceof Map) {
      node = next;
      continue;
    }
    const fresh = new Map<string, Node>();
    // A leaf that turns out to have members keeps its own value as `content`.
    if (next !== undefined) fresh.set('content', next);
    node.set(name, fresh);
    node = fresh;
  }
  const last = path.at(-1) ?? '';
  const known = node.get(last);
  if (known instanceof Map) known.set('content', value);
  else node.set(last, value);
}

/** Members that all are numbers become a list, in numeric order. */
function toJson(node: Node): JsonValue {
  if (!(node instanceof Map)) return node;
  const entries = [...node];
  if (entries.length > 0 && entries.every(([name]) => INDEX.test(name))) {
    return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, inner]) => toJson(inner));
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, toJson(inner)])) as JsonObject;
}
