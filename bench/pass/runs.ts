/**
 * The runs that the pass is measured with: short ones, four spans each (agent, chat, tool, chat),
 * with texts as runs hold them; every twentieth has an attack in a tool's result. What must be
 * found in them is worked out here, from the texts that are sent, without server and database.
 */
import { createHash } from 'node:crypto';
import { loadManifest, verifyCorpus } from '../../src/engine/corpus/corpus.ts';
import { evaluateRun } from '../../src/engine/evaluate.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import { createCatalog } from '../../src/engine/rules/catalog.ts';
import { decide, runnableRules } from '../../src/engine/rules/effective-set.ts';
import { extractSteps } from '../../src/engine/surfaces/reader/extract.ts';
import { corpusPackageDir, MANIFEST_PATH } from '../../src/main/corpus-location.ts';
import type { Step } from '../../src/model/steps.ts';
import { type TextKind, textKinds } from '../match/texts.ts';

const RUNS_PER_BODY = 25;
const ATTACK_EVERY = 20;
const START_UNIX_NANO = 1_795_000_000_000_000_000n;
/** What a new workspace runs with. */
const NEW_WORKSPACE = { experimental: false, overrides: new Map<string, boolean>() };
/** The service's defaults (src/config/settings.ts). */
const SETTINGS = { surfaceCapBytes: 65_536, excerptChars: 160 };

export interface BenchRuns {
  readonly runs: number;
  readonly spans: number;
  /** runs with an attack, and of all runs those with a finding */
  readonly planted: number;
  readonly hit: number;
  /** trace exports that hold them */
  readonly bodies: readonly Buffer[];
  /** bytes of the distinct surface texts, run by run, together */
  readonly textBytes: number;
  /** `run id, rule id` of every finding there must be, sorted */
  readonly findings: readonly string[];
}

interface BenchSpan {
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly startUnixNano: string;
  readonly endUnixNano: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const id = (what: string, digits: number): string =>
  createHash('sha256').update(what).digest('hex').slice(0, digits);

const messages = (role: string, content: string): string =>
  JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);

/** @returns the text of a kind for a run; each run's is its own */
function textsFrom(kinds: readonly TextKind[]): (kind: string, run: number) => string {
  return (name, run) => {
    const texts = kinds.find((kind) => kind.name === name)?.texts ?? [];
    return `${run}. ${texts[run % texts.length] ?? ''}`;
  };
}

function spansOf(run: number, text: (kind: string, run: number) => string): BenchSpan[] {
  const isAttack = run % ATTACK_EVERY === ATTACK_EVERY - 1;
  const question = text('short chat, 80–260 B', run);
  const result = isAttack
    ? text('attack mixture, 2 KB', Math.floor(run / ATTACK_EVERY))
    : text('tool JSON, 2 KB', run);
  const reply = text('prose, 2 KB', run).slice(0, 600);
  const chat = (input: string, output: string) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-4.1-mini',
    'gen_ai.input.messages': messages('user', input),
    'gen_ai.output.messages': messages('assistant', output),
  });
  const spans = [
    {
      name: 'invoke_agent helpdesk',
      attributes: { ...chat(question, reply), 'gen_ai.operation.name': 'invoke_agent' },
    },
    { name: 'chat gpt-4.1-mini', attributes: chat(question, 'I shall look that up.') },
    {
      name: 'execute_tool lookup',
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'lookup',
        'gen_ai.tool.call.arguments': JSON.stringify({ query: question.slice(0, 40), limit: 20 }),
        'gen_ai.tool.call.result': result,
      },
    },
    { name: 'chat gpt-4.1-mini', attributes: chat(result, reply) },
  ];
  return spans.map(({ name, attributes }, place) => {
    const start = START_UNIX_NANO + BigInt(run) * 1_000_000_000n + BigInt(place) * 1000n;
    return {
      spanId: id(`span ${run} ${place}`, 16),
      parentSpanId: place === 0 ? null : id(`span ${run} 0`, 16),
      name,
      startUnixNano: String(start),
      endUnixNano: String(start + 500n),
      attributes,
    };
  });
}

function toStep(span: BenchSpan): Step {
  return {
    source: 'span',
    ...span,
    statusCode: 0,
    statusMessage: '',
    scopeName: 'bench',
    serviceName: 'helpdesk-agent',
    events: [],
    body: null,
    dropped: 0,
    hasRemoteParent: false,
  };
}

function toBody(runs: readonly { traceId: string; spans: readonly BenchSpan[] }[]): Buffer {
  const list = (attributes: Readonly<Record<string, string>>) =>
    Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));
  const spans = runs.flatMap(({ traceId, spans: own }) =>
    own.map(({ spanId, parentSpanId, name, startUnixNano, endUnixNano, attributes }) => ({
      traceId,
      spanId,
      ...(parentSpanId === null ? {} : { parentSpanId }),
      name,
      kind: 1,
      startTimeUnixNano: startUnixNano,
      endTimeUnixNano: endUnixNano,
      attributes: list(attributes),
    })),
  );
  const resource = { attributes: list({ 'service.name': 'helpdesk-agent' }) };
  const scopeSpans = [{ scope: { name: 'bench', version: '1.0.0' }, spans }];
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }));
}

const readCorpus = () => verifyCorpus(corpusPackageDir(), loadManifest(MANIFEST_PATH));

/** @returns run → bytes of its distinct texts, and ids of the rules that must hit it */
export function createJudge(corpus = readCorpus()) {
  const matcher = createFastMatcher(runnableRules(createCatalog(corpus).rules));
  const enabled = matcher.rules.map((rule) => decide(rule, NEW_WORKSPACE).enabled);
  return (steps: readonly Step[]) => {
    const texts = [...extractSteps(steps)].flatMap((step) => step.texts);
    const distinct = new Set(texts.map(({ text }) => text));
    const { findings } = evaluateRun(steps, matcher, (index) => enabled[index] === true, SETTINGS);
    return {
      bytes: [...distinct].reduce((sum, text) => sum + Buffer.byteLength(text), 0),
      ruleIds: findings.map(({ ruleId }) => ruleId),
    };
  };
}

/** Makes so many runs; the same ones every time. */
export function benchRuns(count: number): BenchRuns {
  const corpus = readCorpus();
  const text = textsFrom(textKinds(corpus));
  const judge = createJudge(corpus);
  const findings: string[] = [];
  let textBytes = 0;
  const runs = Array.from({ length: count }, (_, run) => {
    const [traceId, spans] = [id(`run ${run}`, 32), spansOf(run, text)];
    const { bytes, ruleIds } = judge(spans.map(toStep));
    textBytes += bytes;
    findings.push(...ruleIds.map((ruleId) => `${traceId}, ${ruleId}`));
    return { traceId, spans };
  });
  const bodies: Buffer[] = [];
  for (let from = 0; from < count; from += RUNS_PER_BODY) {
    bodies.push(toBody(runs.slice(from, from + RUNS_PER_BODY)));
  }
  return {
    runs: count,
    spans: runs.reduce((sum, { spans }) => sum + spans.length, 0),
    planted: Math.floor(count / ATTACK_EVERY),
    hit: new Set(findings.map((one) => one.slice(0, 32))).size,
    bodies,
    textBytes,
    findings: findings.sort(),
  };
}
