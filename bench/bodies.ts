/**
 * Trace exports as an agent framework sends them: runs of ten spans (agent, model calls, tools)
 * with GenAI attributes, about 1.3 KB of JSON a span. Made from a seeded generator: the same bytes
 * every time.
 */

const SPANS_PER_RUN = 10;
export const START_UNIX_NANO = 1_795_000_000_000_000_000n;

const WORDS = (
  'account balance booking cancel customer delivery document email estimate export flight folder ' +
  'forecast invoice item ledger meeting message minutes offer order package payment policy price ' +
  'project quarter question receipt record refund region report request result review room sales ' +
  'schedule season shipment status stock summary supplier table ticket total transfer update week'
).split(' ');

/** A small seeded generator (mulberry32): numbers from 0 up to 1. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function hex(random: () => number, digits: number): string {
  let text = '';
  while (text.length < digits) {
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  }
  return text.slice(0, digits);
}

/** So many random words, with a line break and quotes behind them. */
export function sentence(random: () => number, words: number): string {
  const chosen = Array.from(
    { length: words },
    () => WORDS[Math.floor(random() * WORDS.length)] ?? '',
  );
  return `${chosen.join(' ')}.\nPlease answer "briefly" and mind the ${chosen[0]}.`;
}

export const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
export const whole = (key: string, value: number) => ({ key, value: { intValue: String(value) } });

export const RESOURCE = {
  attributes: [
    text('service.name', 'helpdesk-agent'),
    text('service.version', '1.4.2'),
    text('telemetry.sdk.language', 'nodejs'),
    text('host.name', 'worker-7'),
  ],
  droppedAttributesCount: 0,
};
export const SCOPE = { name: 'bench', version: '1.0.0' };

function chatAttributes(random: () => number) {
  const messages = (role: string, words: number) =>
    JSON.stringify([{ role, parts: [{ type: 'text', content: sentence(random, words) }] }]);
  return [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.provider.name', 'openai'),
    text('gen_ai.request.model', 'gpt-4.1-mini'),
    text('gen_ai.response.model', 'gpt-4.1-mini-2025-04-14'),
    whole('gen_ai.usage.input_tokens', Math.floor(random() * 4000)),
    whole('gen_ai.usage.output_tokens', Math.floor(random() * 800)),
    text('gen_ai.input.messages', messages('user', 45)),
    text('gen_ai.output.messages', messages('assistant', 30)),
  ];
}

function toolAttributes(random: () => number) {
  return [
    text('gen_ai.operation.name', 'execute_tool'),
    text('gen_ai.tool.name', 'search_orders'),
    text('gen_ai.tool.call.id', `call_${hex(random, 24)}`),
    text('gen_ai.tool.call.arguments', JSON.stringify({ query: sentence(random, 6), limit: 20 })),
    text('gen_ai.tool.call.result', JSON.stringify({ items: [sentence(random, 60)] })),
  ];
}

function span(random: () => number, traceId: string, place: number, parents: string[]) {
  const spanId = hex(random, 16);
  const isRoot = place === 0;
  const start = START_UNIX_NANO + BigInt(Math.floor(random() * 1e12)) * 1000n;
  const isChat = place % 2 === 1;
  const parentSpanId = isRoot ? undefined : parents[0];
  parents.push(spanId);
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: isRoot ? 'invoke_agent helpdesk' : isChat ? 'chat gpt-4.1-mini' : 'execute_tool search',
    kind: isChat ? 3 : 1,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + BigInt(Math.floor(random() * 2e9))),
    attributes: isChat || isRoot ? chatAttributes(random) : toolAttributes(random),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: { code: 0 },
    links: [],
    droppedLinksCount: 0,
    flags: 257,
  };
}

/**
 * One trace export.
 *
 * @param seed other seeds give other ids and texts
 * @param spans how many spans it holds
 */
export function traceBody(seed: number, spans: number): Buffer {
  const random = seeded(seed);
  let traceId = '';
  let parents: string[] = [];
  const list = Array.from({ length: spans }, (_, index) => {
    const place = index % SPANS_PER_RUN;
    if (place === 0) {
      traceId = hex(random, 32);
      parents = [];
    }
    return span(random, traceId, place, parents);
  });
  const scopeSpans = [{ scope: SCOPE, spans: list }];
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource: RESOURCE, scopeSpans }] }));
}
