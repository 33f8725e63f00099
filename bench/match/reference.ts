/**
 * The corpus's own reference engine (`ATREngine` of the npm package) on the same texts, for the
 * rules that run here as they are written. Every text is in every field that the rules read, and on
 * every surface here, so that both engines test every condition.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, ATREngine, type ATRRule } from 'agent-threat-rules';
import { CORE_SCHEMA, load } from 'js-yaml';
import type { VerifiedCorpus } from '../../src/engine/corpus/corpus.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import type { Rule } from '../../src/model/rules.ts';
import { SURFACES } from '../../src/model/steps.ts';
import type { TextKind } from './texts.ts';

export interface AgainstReference {
  readonly rules: number;
  readonly texts: number;
  /** megabytes of text per second */
  readonly reference: number;
  readonly fast: number;
  readonly ratio: number;
  /** pairs of text and rule found by both, and by only one of them */
  readonly foundByBoth: number;
  readonly onlyReference: readonly string[];
  readonly onlyHere: readonly string[];
}

const SETTINGS = { enabled: () => true, capBytes: 65_536 };
/** Texts of each kind; the reference takes a second for fifteen of them. */
const TEXTS_PER_KIND = 6;
/** The one source type whose events the engine puts to rules of every field. */
export const REFERENCE_SOURCE = { type: 'mcp_exchange' };

async function loadEngine(rules: readonly Rule[], corpus: VerifiedCorpus): Promise<ATREngine> {
  const files = new Map(corpus.files.map(({ path, bytes }) => [path, bytes]));
  const written = rules.flatMap((rule): ATRRule[] => {
    const bytes = files.get(rule.file);
    if (bytes === undefined) return [];
    const yaml = load(bytes.toString(), { schema: CORE_SCHEMA }) as ATRRule;
    return [{ ...yaml, status: 'experimental', agent_source: REFERENCE_SOURCE } as ATRRule];
  });
  const empty = mkdtempSync(join(tmpdir(), 'no-rules-'));
  const engine = new ATREngine({ rules: written, rulesDir: empty });
  await engine.loadRules();
  rmSync(empty, { recursive: true });
  return engine;
}

/** A text in every field that rules read, as an event of the reference engine. */
export function toReferenceEvent(text: string): AgentEvent {
  const fields = ['content', 'agent_message', 'user_input', 'tool_args', 'tool_response'];
  return {
    type: 'tool_response',
    timestamp: new Date(0).toISOString(),
    content: text,
    fields: Object.fromEntries(
      [...fields, 'agent_output', 'tool_name'].map((field) => [field, text]),
    ),
  };
}

/** Runs both once over the same texts. */
export async function againstReference(
  kinds: readonly TextKind[],
  rules: readonly Rule[],
  corpus: VerifiedCorpus,
): Promise<AgainstReference> {
  const whole = rules.filter(
    ({ support, conditions }) =>
      support === 'as_written' && conditions.every((condition) => condition.supported),
  );
  const engine = await loadEngine(whole, corpus);
  const matcher = createFastMatcher(whole);
  const texts = kinds.flatMap((kind) => kind.texts.slice(0, TEXTS_PER_KIND));
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const here = (text: string) =>
    matcher.match(
      SURFACES.map((surface) => ({ step: 0, surface, text })),
      SETTINGS,
    ).hits;
  for (const text of texts) here(text);

  const startedAt = performance.now();
  const theirs = texts.map((text) => engine.evaluate(toReferenceEvent(text)));
  const betweenAt = performance.now();
  const ours = texts.map(here);
  const endedAt = performance.now();

  const pairs = (found: readonly (readonly string[])[]) =>
    new Set(found.flatMap((ids, text) => ids.map((id) => `${text} ${id}`)));
  const reference = pairs(theirs.map((found) => found.map(({ rule }) => rule.id)));
  const fast = pairs(ours.map((hits) => hits.map((hit) => whole[hit.ruleIndex]?.id ?? '')));
  const seconds = (from: number, to: number) => (to - from) / 1000;
  const [slow, quick] = [seconds(startedAt, betweenAt), seconds(betweenAt, endedAt)];
  return {
    rules: whole.length,
    texts: texts.length,
    reference: Number((bytes / 1e6 / slow).toFixed(4)),
    fast: Number((bytes / 1e6 / quick).toFixed(2)),
    ratio: Math.round(slow / quick),
    foundByBoth: [...fast].filter((pair) => reference.has(pair)).length,
    onlyReference: [...reference].filter((pair) => !fast.has(pair)),
    onlyHere: [...fast].filter((pair) => !reference.has(pair)),
  };
}
