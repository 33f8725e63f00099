/**
 * Products that send no traces (by default, or at all), but log events with attributes for the
 * session and usually the prompt; and the reading of these attributes from a log record. A new
 * product needs one entry in `PRODUCTS`. The run of a record without a prompt is determined by
 * `src/db/telemetry/log-runs.ts`.
 */
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { LogSession, ResourceRow } from '../model/telemetry.ts';
import { isObject, type Raw } from './fields.ts';
import { contentId } from './origin.ts';

interface Product {
  /** prefixes of the instrumentation scope's name */
  readonly scopes: readonly string[];
  /** prefixes of the service's name */
  readonly services: readonly string[];
  /** the session's attribute */
  readonly session: string;
  /** the prompt's attribute; null if the product has none */
  readonly prompt: string | null;
  /** events that start a prompt */
  readonly promptEvents: readonly string[];
  /** events that end all earlier prompts of the session */
  readonly endEvents: readonly string[];
  /** attributes with text that rules can match */
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

/** The fields of a resource and scope that identify the product. */
type LogOrigin = Pick<ResourceRow, 'scopeName' | 'serviceName'>;

/**
 * The session of a log record without a trace id. Of a repeated attribute the last one is used, as
 * when attributes are stored.
 *
 * @param origin the record's resource and scope
 * @param record an accepted record, as sent
 * @returns null for a record of an unknown product or without a session
 */
export function sessionOf(origin: LogOrigin, record: JsonObject): LogSession | null {
  const product = productOf(origin);
  return product === null ? null : readSession(product, origin.serviceName ?? '', record);
}

/** Whether the origin is that of a product whose log records may have a session. */
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
  let eventAttribute: Raw = null;
  let hasText = false;
  for (const entry of Array.isArray(attributes) ? attributes : []) {
    if (!isObject(entry) || typeof entry.key !== 'string') continue;
    const { key, value = null } = entry;
    if (key === product.session) session = stringIn(value);
    else if (key === product.prompt) prompt = stringIn(value);
    else if (key === EVENT_NAME) eventAttribute = stringIn(value);
    else if (product.texts.includes(key)) hasText ||= stringIn(value) !== '' || isStructure(value);
  }
  if (session === '') return null;
  const names = [eventAttribute, eventName, stringIn(body ?? null)];
  const isNamed = (events: readonly string[]) =>
    names.some((name) => typeof name === 'string' && events.includes(name));
  return {
    key: contentId([service, session]),
    runId: prompt === '' ? null : contentId([service, session, prompt]),
    event: isNamed(product.promptEvents)
      ? 'prompt'
      : isNamed(product.endEvents)
        ? 'end'
        : hasText
          ? 'text'
          : 'nothing',
  };
}

/** Whether an AnyValue is a list or a map. Gemini CLI sends `error` without a value. */
function isStructure(value: JsonValue): boolean {
  return isObject(value) && ('arrayValue' in value || 'kvlistValue' in value);
}

/** The string of an AnyValue; empty if it holds anything else. */
function stringIn(value: JsonValue): string {
  const text = isObject(value) ? value.stringValue : null;
  return typeof text === 'string' ? text : '';
}
