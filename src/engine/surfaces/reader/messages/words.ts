/**
 * Owns the vocabulary of chat messages: which words in a role, a part's type or a member's name mean
 * a tool's call, a tool's result, the model, the user or the operator. Products spell the same words
 * in every case and with every separator (`toolResult`, `tool-result`, `TOOL_RESULT`), and combine
 * them in new ways (`web_fetch_tool_result`), so names are compared word by word.
 */

import type { JsonObject } from '../../../../model/json.ts';

/** A longer name is no role or type. */
export const NAME_CHARS_MAX = 64;

/** Tools and their surroundings, which write messages. */
const TOOL_AUTHOR =
  /^(?:tools?|functions?|mcp|plugins?|interpreter|i?python|observations?|environment|sandbox|executor|retriev(?:er|al)|memory|computer|browser|shell|bash|terminal)$/;
/** The same, and what they do. */
const TOOL = new RegExp(`${TOOL_AUTHOR.source}|^(?:code|execution)$`);
const CALL = /^(?:calls?|uses?|requests?|invocations?)$/;
const RESULT =
  /^(?:results?|outputs?|responses?|returns?|observations?|executions?|repl(?:y|ies)|summary)$/;
const ERROR = /^(?:errors?|exception)$/;
const USER = /^(?:user|human|customer|enduser)$/;
const MODEL =
  /^(?:assistant|ai|model|bot|chatbot|agent|llm|gpt|thoughts?|thinking|reasoning|completion)$/;
const OPERATOR = /^(?:system|developer|instructions?)$/;
/** Words that say nothing about the author. */
const FILLER = /^(?:message|msg|chat|chunk|turn|role|event|prompt|streaming)$/;
/** Suffixes of classes and events that say nothing about the act: `ToolReturnPart`, `tool-output-available`. */
const PACKAGING = /^(?:part|block|content|item|param|delta|available)$/;
/** Forms of a model's answer: `structured_output` is no tool's. */
const FORM = /^(?:text|audio|image|video|json|structured|final|approval|message)$/;

/** `toolresult`, `toolcallresult`, in lower or upper case only */
const JOINED =
  /(?<![\p{L}\d])(tool|function)(call)?(call|use|result|response|output|return)(?=s?(?![\p{L}\d]))/gu;

/** The lower-case words of a name; none of a name that is too long. */
export function wordsOf(name: string): string[] {
  if (name.length > NAME_CHARS_MAX) return [];
  return name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, ' ')
    .toLowerCase()
    .replaceAll(JOINED, '$1 $2 $3')
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '');
}

/** Most names whose meaning is kept, per function; with more all of them are forgotten. */
const KEPT_NAMES_MAX = 500;

/**
 * Returns the function with a cache of its results: every message has the same few roles and members.
 * A name that is too long to mean anything is not kept.
 */
function kept<T>(meaningOf: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const meaning = known.get(name);
    if (meaning !== undefined || known.has(name)) return meaning as T;
    const found = meaningOf(name);
    if (known.size >= KEPT_NAMES_MAX) known.clear();
    if (name.length <= NAME_CHARS_MAX) known.set(name, found);
    return found;
  };
}

export type Author = 'user' | 'operator' | 'model' | 'tool';

/** Who has this role: `Tool-Response` → tool. Undefined for a role in no known word. */
export const authorByRole = kept((role: string): Author | undefined => {
  const words = wordsOf(role);
  const has = (pattern: RegExp): boolean => words.some((word) => pattern.test(word));
  const act = actOf(words);
  if (act === 'call' && has(TOOL)) return 'model';
  if (act === 'result' && (words.length > 1 || has(/^(?:results?|observations?)$/))) return 'tool';
  if (has(TOOL_AUTHOR)) return 'tool';
  if (has(OPERATOR) && words.every((word) => OPERATOR.test(word) || FILLER.test(word))) {
    return 'operator';
  }
  if (has(USER)) return 'user';
  return has(MODEL) ? 'model' : undefined;
});

export const UNKNOWN_ROLES_MAX = 20;

export function noteRoles(noted: Set<string>, roles: Iterable<string>): void {
  for (const role of roles) if (noted.size < UNKNOWN_ROLES_MAX) noted.add(role);
}

const IDENTIFIER = /^[\p{L}\d][\p{L}\d_.:/-]*$/u;

/** A role as it may be listed; not one that may itself be a text. */
export function listedRole(role: string): string {
  return role.length <= NAME_CHARS_MAX && IDENTIFIER.test(role) ? role : '(other)';
}

const ONE_WORD_TYPE =
  /^(?:user|human|customer|system|developer|instruction|assistant|ai|model|bot|tool|function|tool_?result)$/i;
const MESSAGE_CLASS = /(?:message(?:chunk)?|event)$/i;

/** Checks whether a type names a class of messages (`ToolMessage`, `TextMessage`, `ThoughtEvent`). */
export function isMessageClass(type: string): boolean {
  return MESSAGE_CLASS.test(type) && wordsOf(type).length > 1;
}

/** Who writes messages of this type. Most types are of parts and name nobody. */
export function authorByType(type: string): Author | undefined {
  if (ONE_WORD_TYPE.test(type)) return authorByRole(type);
  const author = isMessageClass(type) ? authorByRole(type) : undefined;
  // Operators write messages; a `SystemEvent` may be anybody's.
  return author === 'operator' && /event$/i.test(type) ? undefined : author;
}

export type Act = 'call' | 'result';

/** Names without any of these letters need not be split. */
const MAY_BE_ACT =
  /call|use|request|invocation|result|output|response|return|observation|error|execution|repl/i;

/**
 * Checks whether this type of part is a tool's call or its result: by its last word, as in
 * `apply_patch_call_output`. What the user or the model says (`final_output`) is neither.
 */
export const actOfType = kept((type: string): Act | undefined => {
  if (!MAY_BE_ACT.test(type)) return undefined;
  const words = wordsOf(type);
  return words.length > 1 || /^(?:result|observation)s?$/.test(words[0] ?? '')
    ? actOf(words)
    : undefined;
});

/** The same for a member's name; it must also name a tool or a function, as in `toolCalls`. */
export const actOfMember = kept((name: string): Act | undefined => {
  if (!MAY_BE_ACT.test(name)) return undefined;
  const words = wordsOf(name);
  return words.some((word) => TOOL.test(word)) ? actOf(words) : undefined;
});

function actOf(words: readonly string[]): Act | undefined {
  const isOfTool = words.some((word) => TOOL.test(word));
  const last =
    words.findLast((word) => !FILLER.test(word) && !(isOfTool && PACKAGING.test(word))) ?? '';
  if (words.includes('approval') && RESULT.test(last)) return undefined;
  if (CALL.test(last)) return 'call';
  if (ERROR.test(last)) return isOfTool ? 'result' : undefined;
  if (!RESULT.test(last)) return undefined;
  const isSaid = words.some((word) => USER.test(word) || MODEL.test(word) || FORM.test(word));
  return isSaid && !isOfTool && !words.some((word) => CALL.test(word)) ? undefined : 'result';
}

/** Checks whether this type of part is a tool's without saying what: `tool`, `dynamic-tool`, `mcp_list_tools`. */
export function isToolType(type: string): boolean {
  return wordsOf(type).some((word) => /^(?:tools?|functions?|mcp)$/.test(word));
}

/** A type without what its class is called beside it: `TextContent` → text. */
export function bareType(type: string): string {
  return wordsOf(type)
    .filter((word) => !PACKAGING.test(word))
    .join('_');
}

const TAG_NAME = /(?:type|kind|class)[_-]*$/i;
const TAG = /^(?:type|kind|class)$/;

/** Returns the values of members that may name a message's or part's type: `$type`, `content_type`, `message_type`. */
export function tagsOf(structure: JsonObject): string[] {
  const { type } = structure;
  if (typeof type === 'string') return [type];
  return Object.entries(structure).flatMap(([name, value]) => {
    if (typeof value !== 'string' || !TAG_NAME.test(name)) return [];
    const words = wordsOf(name).filter((word) => !FILLER.test(word) && !PACKAGING.test(word));
    return words.length === 1 && TAG.test(words[0] ?? '') ? [value] : [];
  });
}

const CALL_ID = /^(?:(?:tool|function)[_-]?)?(?:call|use)[_-]?id$/i;

/** Checks whether a member holds the id of a call: `call_id`, `toolCallId`, `toolUseID`. */
export function isCallId(name: string, value: unknown): boolean {
  return typeof value === 'string' && CALL_ID.test(name);
}

const THOUGHT = /^(?:thoughts?|thinking|reasoning)$/;
const OPAQUE = /^(?:redacted|encrypted)$/;
const MEDIA = /^(?:image|audio|video|file|document|media|blob|binary|ur[il]|pdf|photo|screenshot)$/;

/** Checks whether this type of part is a thought of the model's, or one that only its provider can read. */
export function thoughtOf(type: string): 'thought' | 'opaque' | undefined {
  const words = wordsOf(type);
  if (!words.some((word) => THOUGHT.test(word))) return undefined;
  return words.some((word) => OPAQUE.test(word)) ? 'opaque' : 'thought';
}

export function isMediaType(type: string): boolean {
  return MEDIA.test(wordsOf(type).at(-1) ?? '');
}

const METADATA =
  /^(?:id|uuid|guid|index|name|type|kind|object|version|fingerprint|tier|status|reason|created|updated|at|timestamp|time|date|locale|language|provider|encoding|format|schema|hash|checksum|region)$/;

/** Checks whether a member of a request or response names it, or says how or when it was sent. */
export function isMetadataName(name: string): boolean {
  return METADATA.test(wordsOf(name).at(-1) ?? '');
}
