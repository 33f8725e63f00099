/**
 * Products that send no traces (by default, or at all), but log events with attributes for the
 * session and usually the prompt; and the reading of these attributes from a log record. One of them
 * also sends a trace for every call of its model: its spans are read, too. A new product needs one
 * entry in `PRODUCTS`. The run of a record without a prompt is determined by
 * `src/db/telemetry/log-runs.ts`.
 */
import { hash } from 'node:crypto';

import type { Hex16, JsonObject, JsonValue } from '../model/json.ts';
import type { LogSession, Origin } from '../model/telemetry.ts';
import { isObject } from './fields.ts';

interface EndEvent {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

interface Product {
  /** prefixes of the instrumentation scope's name */
  readonly scopes: readonly string[];
  /** prefixes of the service's name */
  readonly services: readonly string[];
  readonly session: string;
  /** the prompt's attribute; null if the product has none */
  readonly prompt: string | null;
  readonly promptEvents: readonly string[];
  /** events that end all earlier prompts of the session */
  readonly endEvents: readonly EndEvent[];
  /** events that do so when they are the session's last of their request */
  readonly lastEvents: readonly string[];
  /** a record without a session that a process sends when it ends: prefix of its scope, and body */
  readonly goodbye: { readonly scope: string; readonly body: string } | null;
  /**
   * the attributes of its spans, where a trace is only a part of a prompt; null where a trace is a run,
   * to which log records with its id belong
   */
  readonly spans: { readonly session: string; readonly prompt: string } | null;
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
    // Only sent where a Stop hook is configured. A hook that blocks lets the agent continue.
    endEvents: [
      {
        name: 'hook_execution_complete',
        attributes: { hook_event: 'Stop', num_blocking: '0' },
      },
    ],
    lastEvents: [],
    goodbye: null,
    spans: null,
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
    lastEvents: [],
    // codex-rs/otel/src/metrics/client.rs, `shutdown`
    goodbye: { scope: 'codex_otel::metrics', body: 'flushing OTEL metrics' },
    spans: null,
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
      { name: 'gemini_cli.conversation_finished' },
      { name: 'qwen-code.conversation_finished' },
      { name: 'end_session' },
    ],
    // Sent when the CLI ends (packages/core/src/config/config.ts, `dispose`), and before a change of
    // the mode, which is a separate event and follows at once.
    lastEvents: ['gemini_cli.plan.approval_mode_duration'],
    goodbye: null,
    // packages/core/src/telemetry/trace.ts; only calls of the model name their prompt
    spans: { session: 'gen_ai.conversation.id', prompt: 'gen_ai.prompt.name' },
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

/** A record's session; null in the record by which a process says goodbye. */
export interface NamedSession {
  readonly session: LogSession | null;
  readonly farewell: Farewell | null;
}

/**
 * Ends of sessions that depend on the other records of the request: `if_last` its own if no
 * record of it follows, `process` those of all records from the same process.
 */
export type Farewell = 'if_last' | 'process';

/**
 * The session of a log record, and whether the record ends it. Of a repeated attribute the last one is
 * used, as by the readers of records.
 *
 * @param origin the record's resource and scope
 * @param record an accepted record, as sent
 * @param hasTrace whether it has a trace id
 * @returns null for a record of an unknown product, with neither a session nor a goodbye, or whose
 *   trace is its run
 */
export function sessionOf(
  origin: Origin,
  record: JsonObject,
  hasTrace = false,
): NamedSession | null {
  const product = productOf(origin);
  if (product === null || (hasTrace && product.spans === null)) return null;
  return readSession(product, origin, record, hasTrace);
}

/**
 * The session of a span.
 *
 * @param origin the span's resource and scope
 * @param span an accepted span, as sent
 * @returns null where its trace is its run
 */
export function sessionOfSpan(origin: Origin, { attributes }: JsonObject): LogSession | null {
  const names = productOf(origin)?.spans ?? null;
  if (names === null) return null;
  let session = '';
  let prompt = '';
  for (const entry of Array.isArray(attributes) ? attributes : []) {
    if (!isObject(entry)) continue;
    if (entry.key === names.session) session = stringIn(entry.value ?? null);
    else if (entry.key === names.prompt) prompt = stringIn(entry.value ?? null);
  }
  if (session === '') return null;
  const ids = idsOf(origin, session, prompt);
  return { ...ids, event: 'nothing', ends: false, hasTrace: true };
}

/** Checks whether spans of this origin, and log records with a trace id, may have a session. */
export function isTracedSessionProduct(origin: Origin): boolean {
  return (productOf(origin)?.spans ?? null) !== null;
}

/** The first 16 bytes of SHA-256 over the parts as a JSON array, which differs for different lists. */
export function hashOf(parts: readonly string[]): Hex16 {
  return hash('sha256', JSON.stringify(parts)).slice(0, 32);
}

function idsOf(
  { serviceName }: Origin,
  session: string,
  prompt: string,
): Pick<LogSession, 'key' | 'runId'> {
  const service = serviceName ?? '';
  return {
    key: hashOf([service, session]),
    runId: prompt === '' ? null : hashOf([service, session, prompt]),
  };
}

/** Checks whether the origin is a product whose log records may have a session. */
export function isSessionProduct(origin: Origin): boolean {
  return productOf(origin) !== null;
}

function productOf({ scopeName, serviceName }: Origin): Product | null {
  const product = PRODUCTS.find(
    ({ scopes, services }) =>
      scopes.some((scope) => scopeName.startsWith(scope)) ||
      (serviceName !== null && services.some((service) => serviceName.startsWith(service))),
  );
  return product ?? null;
}

function readSession(
  product: Product,
  origin: Origin,
  { attributes, eventName, body }: JsonObject,
  hasTrace: boolean,
): NamedSession | null {
  let session = '';
  let prompt = '';
  let hasText = false;
  const strings = new Map<string, string>();
  for (const entry of Array.isArray(attributes) ? attributes : []) {
    if (!isObject(entry) || typeof entry.key !== 'string') continue;
    const { key, value = null } = entry;
    if (key === product.session) session = stringIn(value);
    else if (key === product.prompt) prompt = stringIn(value);
    else if (product.texts.includes(key)) hasText ||= stringIn(value) !== '' || isStructure(value);
    else strings.set(key, stringIn(value));
  }
  const text = stringIn(body ?? null);
  const { goodbye } = product;
  if (session === '') {
    const isGoodbye = goodbye?.body === text && origin.scopeName.startsWith(goodbye.scope);
    return isGoodbye ? { session: null, farewell: 'process' } : null;
  }
  const names = [strings.get(EVENT_NAME), eventName, text];
  const isNamed = (events: readonly string[]) =>
    names.some((name) => typeof name === 'string' && events.includes(name));
  const isEnd = ({ name, attributes: needed = {} }: EndEvent) =>
    isNamed([name]) && Object.entries(needed).every(([key, value]) => strings.get(key) === value);
  return {
    session: {
      ...idsOf(origin, session, prompt),
      event: isNamed(product.promptEvents) ? 'prompt' : hasText ? 'text' : 'nothing',
      ends: product.endEvents.some(isEnd),
      hasTrace,
    },
    farewell: isNamed(product.lastEvents) ? 'if_last' : null,
  };
}

/** Checks whether an AnyValue is a list or a map. Gemini CLI sends `error` without a value. */
function isStructure(value: JsonValue): boolean {
  return isObject(value) && ('arrayValue' in value || 'kvlistValue' in value);
}

/** The string of an AnyValue; empty if it holds anything else. */
function stringIn(value: JsonValue): string {
  const text = isObject(value) ? value.stringValue : null;
  return typeof text === 'string' ? text : '';
}
