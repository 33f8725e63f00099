/**
 * Owns the table of products that send no traces (by default, or at all) but log events that name
 * the session and, mostly, the prompt they belong to; and the reading of that from a log record.
 * A new product is a row. Which run a record that names no prompt belongs to is not decided here
 * (`src/db/telemetry/log-runs.ts`).
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { LogSession, ResourceRow } from '../model/telemetry.ts';
import { isObject, type Raw } from './fields.ts';
import { contentId } from './origin.ts';

interface Product {
  /** beginnings of the instrumentation scope's name */
  readonly scopes: readonly string[];
  /** beginnings of the service's name */
  readonly services: readonly string[];
  /** attribute that names the session */
  readonly session: string;
  /** attribute that names the prompt; null when the product names none */
  readonly prompt: string | null;
  /** events with which a prompt begins */
  readonly promptEvents: readonly string[];
  /** events after which nothing of the prompts before comes */
  readonly endEvents: readonly string[];
  /** attributes that hold text which a rule can be about */
  readonly texts: readonly string[];
}

const PRODUCTS: readonly Product[] = [
  // Claude Code, code.claude.com/docs/en/monitoring-usage, "Events"
  {
    scopes: ['com.anthropic.claude_code'],
    services: ['claude-code'],
    session: 'session.id',
    prompt: 'prompt.id',
    promptEvents: ['user_prompt', 'claude_code.user_prompt'],
    endEvents: [],
    texts: ['prompt', 'response', 'tool_name', 'tool_input', 'tool_parameters', 'error', 'body'],
  },
  // Codex CLI, openai/codex codex-rs/otel/src/events
  {
    scopes: ['codex'],
    services: ['codex', 'Codex'],
    session: 'conversation.id',
    prompt: null,
    promptEvents: ['codex.user_prompt'],
    endEvents: [],
    texts: ['prompt', 'response', 'tool_name', 'arguments', 'output', 'error.message'],
  },
  // Gemini CLI and Qwen Code, google-gemini/gemini-cli packages/core/src/telemetry/types.ts
  {
    scopes: ['gemini-cli', 'qwen-code'],
    services: ['gemini-cli', 'qwen-code'],
    session: 'session.id',
    prompt: 'prompt_id',
    promptEvents: ['gemini_cli.user_prompt', 'qwen-code.user_prompt'],
    endEvents: [
      'gemini_cli.conversation_finished',
      'qwen-code.conversation_finished',
      'end_session',
    ],
    texts: [
      'prompt',
      'function_name',
      'function_args',
      'request_text',
      'response_text',
      'gen_ai.input.messages',
      'gen_ai.output.messages',
      'hook_input',
      'hook_output',
      'stdout',
      'stderr',
      'error',
      'error.message',
    ],
  },
];

const EVENT_NAME = 'event.name';

/** What identifies the product in a resource and scope. */
type LogOrigin = Pick<ResourceRow, 'scopeName' | 'serviceName'>;

/**
 * The session of a log record without trace id. Of a repeated attribute the last one counts, as in
 * what is stored.
 *
 * @param origin the record's resource and scope
 * @param record as sent, once it was accepted
 * @returns null for records of no known product, and for those that name no session
 */
export function sessionOf(origin: LogOrigin, record: JsonObject): LogSession | null {
  const product = productOf(origin);
  return product === null ? null : readSession(product, origin.serviceName ?? '', record);
}

/** Does the origin belong to a product whose log records may have a session? */
export function isSessionProduct(origin: LogOrigin): boolean {
  return productOf(origin) !== null;
}

function productOf({ scopeName, serviceName }: LogOrigin): Product | null {
  const product = PRODUCTS.find(
    ({ scopes, services }) =>
      scopes.some((scope) => scopeName.startsWith(scope)) ||
      (serviceName !== null && services.some((service) => serviceName.startsWith(service))),
  );
  return product ?? null;
}

function readSession(
  product: Product,
  service: string,
  { attributes, eventName, body }: JsonObject,
): LogSession | null {
  let session = '';
  let prompt = '';
  let told: Raw = null;
  let hasText = false;
  for (const entry of Array.isArray(attributes) ? attributes : []) {
    if (!isObject(entry) || typeof entry.key !== 'string') continue;
    const { key, value = null } = entry;
    if (key === product.session) session = stringIn(value);
    else if (key === product.prompt) prompt = stringIn(value);
    else if (key === EVENT_NAME) told = stringIn(value);
    else if (product.texts.includes(key)) hasText = true;
  }
  if (session === '') return null;
  const names = [told, eventName, stringIn(body ?? null)];
  const isOne = (events: readonly string[]) =>
    names.some((name) => typeof name === 'string' && events.includes(name));
  return {
    key: contentId([service, session]),
    runId: prompt === '' ? null : contentId([service, session, prompt]),
    tells: isOne(product.promptEvents)
      ? 'prompt'
      : isOne(product.endEvents)
        ? 'end'
        : hasText
          ? 'text'
          : 'nothing',
  };
}

/** The string in an AnyValue, empty when it holds none. */
function stringIn(value: JsonValue): string {
  const text = isObject(value) ? value.stringValue : null;
  return typeof text === 'string' ? text : '';
}
