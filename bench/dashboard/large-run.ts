/** A run of very many steps, sent to the server as an agent would send it. */
import { hex, seeded, sentence } from '../bodies.ts';

const SPANS_A_BODY = 1_000;
const TOOL_CALLS = 20;

/**
 * Sends one run: a root, model calls below it, and tool calls below these.
 *
 * @param observeUrl where the server takes OTLP
 * @param isFinished false: its root span is not sent, so it is not evaluated and not packed
 * @returns the id of the run
 */
export async function sendLargeRun(
  observeUrl: string,
  agentKey: string,
  steps: number,
  isFinished = true,
): Promise<string> {
  const random = seeded(isFinished ? 7 : 8);
  const traceId = hex(random, 32);
  const root = hex(random, 16);
  const begun = BigInt(Date.now()) * 1_000_000n;
  let parent = '';
  const span = (place: number) => {
    const isRoot = place === 0;
    const spanId = isRoot ? root : hex(random, 16);
    const isCall = !isRoot && place % TOOL_CALLS === 1;
    const parentSpanId = isCall ? root : parent;
    if (isCall) parent = spanId;
    const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const attributes = isCall
      ? [
          attribute('gen_ai.operation.name', 'chat'),
          attribute('gen_ai.request.model', 'gpt-4.1-mini'),
          attribute('gen_ai.output.messages', JSON.stringify([message(random)])),
        ]
      : [
          attribute('gen_ai.operation.name', isRoot ? 'invoke_agent' : 'execute_tool'),
          attribute('gen_ai.tool.name', 'search'),
          attribute('gen_ai.tool.call.arguments', JSON.stringify({ text: sentence(random, 8) })),
          attribute('gen_ai.tool.call.result', sentence(random, 40)),
        ];
    const start = begun + BigInt(place) * 1_000_000n;
    return {
      traceId,
      spanId,
      ...(isRoot ? {} : { parentSpanId }),
      name: isRoot
        ? 'invoke_agent researcher'
        : isCall
          ? 'chat gpt-4.1-mini'
          : 'execute_tool search',
      kind: 1,
      startTimeUnixNano: `${start}`,
      endTimeUnixNano: `${start + 900_000n * BigInt(isRoot ? steps : isCall ? TOOL_CALLS : 1)}`,
      attributes,
      status: {},
    };
  };
  const first = isFinished ? 0 : 1;
  for (let sent = 0; sent < steps; sent += SPANS_A_BODY) {
    const spans = Array.from({ length: Math.min(SPANS_A_BODY, steps - sent) }, (_, n) =>
      span(first + sent + n),
    );
    const answer = await fetch(`${observeUrl}/v1/traces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agentKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        resourceSpans: [{ resource: {}, scopeSpans: [{ scope: {}, spans }] }],
      }),
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the large run: status ${answer.status}`);
  }
  return traceId;
}

const message = (random: () => number) => ({
  role: 'assistant',
  parts: [{ type: 'text', content: sentence(random, 30) }],
});
