/**
 * Owns who wrote a chat message: the user, the operator, the model or a tool, by its role in any
 * dialect, and whether a value is a conversation, in which every message says so.
 */
import type { JsonObject, JsonValue } from '../../../../model/json.ts';
import type { Side } from '../convention.ts';
import { isObject } from '../value-text.ts';
import { isPart } from './message-parts.ts';
import { type Author, authorByRole, authorByType, isMessageClass, tagsOf } from './words.ts';

/** `unknown`: the message names a role, in no known word. */
export type MessageAuthor = Author | 'unknown';

export function authorOf(message: JsonObject): MessageAuthor | undefined {
  const { source } = message;
  const role = roleOf(message);
  if (role !== undefined && role !== '') return authorByRole(role) ?? 'unknown';
  const [type] = tagsOf(message);
  if (role !== undefined || type === undefined) return undefined;
  const author = authorByType(type);
  if (author !== undefined || typeof source !== 'string' || !isMessageClass(type)) return author;
  // AutoGen: who sent it, where its class does not say.
  return authorByRole(source) === 'user' ? 'user' : 'model';
}

/** The role of a message; .NET may wrap it, `{Label: "user"}`, and others number it. */
export function roleOf({ role }: JsonObject): string | undefined {
  if (!isObject(role)) return role === undefined || role === null ? undefined : String(role);
  const [name, ...others] = Object.values(role);
  return typeof name === 'string' && others.length === 0 ? name : '{}';
}

/** A message as LangChain serialises it, `{lc, id: […, class], kwargs: {…}}`, without its wrapping. */
export function fromLangChain({ id, kwargs }: JsonObject): JsonObject | null {
  if (!Array.isArray(id) || !isObject(kwargs)) return null;
  const role = id.at(-1);
  return typeof role === 'string' && /Message(?:Chunk)?$/.test(role) ? { role, ...kwargs } : null;
}

/**
 * The value that an object of LangGraph hands on: a `Command` the update of a graph's state, a `Send` the input of
 * its next node. Null for any other object. The names of nodes are no text.
 */
export function fromLangGraph({ lg_name: name, update, resume, goto, args }: JsonObject) {
  if (name !== 'Command' && name !== 'Send') return null;
  const nodes = (Array.isArray(goto) ? goto : [goto ?? null]).filter(isObject);
  const handed = name === 'Send' ? [args] : [update, resume, ...nodes];
  return handed.filter((one) => one !== undefined && one !== null);
}

/**
 * Checks whether these are messages that all have an author, perhaps in a request. On the input side one of
 * them must be a user's: a single `{"role":"system",…}` is rather a user's attempt than a request.
 */
export function isConversation(value: JsonValue, side: Side): boolean {
  if (isObject(value)) {
    const handed = fromLangGraph(value);
    if (handed !== null) return handed.every((one) => isConversation(one, side));
    const { messages, contents, input, output } = value;
    const list = [messages, contents, input].find((one) => Array.isArray(one));
    if (list !== undefined) return isConversation(list, side);
    if (Array.isArray(output) && output.some((one) => isObject(one) && fromLangGraph(one))) {
      return output.every((one) => isConversation(one, side));
    }
  }
  // LangChain: a list of conversations.
  const authors = (Array.isArray(value) ? value.flat() : [value]).map((one) => {
    if (!isObject(one)) return undefined;
    const author = authorOf(fromLangChain(one) ?? one);
    // A call or its result, a separate item.
    return author ?? (tagsOf(one).length > 0 && isPart(one) ? 'model' : undefined);
  });
  const needed = side === 'input' ? 'user' : 'model';
  return authors.includes(needed) && !authors.includes(undefined);
}
