/** A finding with several matches: an exception hides it only if exceptions cover all of them. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createException, endException } from '../../../src/db/findings/exception-writes.ts';
import {
  exceptionOffer,
  exceptionsFor,
  listExceptions,
} from '../../../src/db/findings/exceptions.ts';
import { listFindingGroups } from '../../../src/db/findings/finding-groups.ts';
import { listFindings } from '../../../src/db/findings/finding-list.ts';
import {
  findAlertedFindings,
  findFinding,
  listFindingFacts,
  settledBefore,
} from '../../../src/db/findings/findings.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { findSession } from '../../../src/db/people/sessions.ts';
import { setRedaction } from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { completeRuns, keepFindings } from '../../../src/db/runs/complete-runs.ts';
import { claimRuns } from '../../../src/db/runs/evaluation-queue.ts';
import { findRun } from '../../../src/db/runs/runs.ts';
import { EXCEPTION_PARTS, type ExceptionPart } from '../../../src/model/exceptions.ts';
import {
  type FindingDraft,
  type FurtherPlace,
  type MatchedPlace,
  MORE_PLACES_MAX,
} from '../../../src/model/findings.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { Actor } from '../../../src/model/people.ts';
import { SURFACES } from '../../../src/model/steps.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';
import { findingDraft, hex16, runFacts } from '../../support/rows.ts';

const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20) };
const RULE = 'ATR-2026-00001';

let scratch: MigratedDatabase;
let workspaces = 0;
let runs = 0;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
});
afterAll(() => scratch.close());

interface Team {
  readonly workspaceId: number;
  readonly owner: Actor;
}

async function addTeam(): Promise<Team> {
  workspaces += 1;
  const { id } = await createWorkspace(scratch.database, `w${workspaces}`, 'A workspace');
  const person = await addPerson(scratch.database, id, 'owner');
  const session = await findSession(scratch.database, person.token);
  const owner = {
    userId: person.id,
    name: person.email,
    origin: 'test',
    sessionId: session?.id ?? '',
  };
  return { workspaceId: id, owner };
}

/** A match of a text; the text is its excerpt too. */
function matchOf(text: string, fields: Partial<MatchedPlace> = {}): MatchedPlace {
  const { place } = findingDraft();
  return {
    description: `matched ${text}`,
    conditionIndex: text.length,
    conditionDescription: `condition of ${text}`,
    field: 'content',
    surface: 'tool_result',
    stepSpanId: '00000000000000aa',
    stepName: `step of ${text}`,
    stepNameMatched: false,
    toolName: null,
    excerpt: text,
    matchSha256: createHash('sha256').update(text).digest('hex'),
    place: { ...place, step: text.length },
    ...fields,
  };
}

function draftOf([first, ...more]: readonly MatchedPlace[], restFrom = Infinity): FindingDraft {
  const morePlaces = more.map((one, index): FurtherPlace => {
    return { ...one, isRest: index >= restFrom };
  });
  return { ...findingDraft(first), ruleId: RULE, ...(more.length > 0 && { morePlaces }) };
}

async function addRun({ workspaceId }: Team) {
  runs += 1;
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records, service_name)
     VALUES ($1, $2, 'completed', 1, 0, 'shop')`,
    [workspaceId, hex16(runs)],
  );
  const [run] = await claimRuns(scratch.database, { settleMs: 0, timeoutMs: 0, limit: 1 });
  if (run === undefined) throw new Error('no run was claimed');
  return run;
}

interface Storing {
  readonly agentName?: string | null;
  readonly redactExcerpts?: boolean;
}

const evaluationOf = (
  run: Awaited<ReturnType<typeof addRun>>,
  draft: FindingDraft,
  { agentName = 'buyer', redactExcerpts = false }: Storing,
) => ({
  run,
  facts: runFacts({ agentName }),
  findings: [draft],
  redactExcerpts,
  ruleSetSha256: 'ab'.repeat(32),
  steps: 1,
  repeatedSpans: 0,
  unreadSteps: 0,
  texts: 1,
  surfaces: ['tool_result'] as const,
  truncatedTexts: 0,
  textCapBytes: 65_536,
  unparsedValues: 0,
  usage: NO_USAGE,
  title: null,
  tools: [],
});

/** Stores a finding of a run of its own. @returns its id */
async function add(team: Team, draft: FindingDraft, storing: Storing = {}): Promise<Hex16> {
  const run = await addRun(team);
  await completeRuns(scratch.database, [evaluationOf(run, draft, storing)], CORPUS);
  return await idOf(team, run.runId);
}

async function idOf({ workspaceId }: Team, runId: Hex16): Promise<Hex16> {
  const rows = await scratch.rows(
    'SELECT id FROM findings WHERE workspace_id = $1 AND run_id = $2',
    [workspaceId, runId],
  );
  return String(rows[0]?.id);
}

const except = (team: Team, id: Hex16, ...parts: readonly ExceptionPart[]) =>
  createException(
    scratch.database,
    team.workspaceId,
    id,
    { parts, reason: 'why', days: 9 },
    team.owner,
  );
/** What every exception that a finding offers would hide: all findings, and those of other agents. */
async function hiddenBy({ workspaceId }: Team, id: Hex16) {
  const { choices } = await exceptionOffer(scratch.database, workspaceId, id);
  return choices.map(({ parts, hidden, ofOtherAgents }) => [
    parts.join(' '),
    hidden.count,
    ofOtherAgents,
  ]);
}
const find = ({ workspaceId }: Team, id: Hex16) => findFinding(scratch.database, workspaceId, id);

async function shownIn(team: Team): Promise<(string | null)[]> {
  const filter = { isExcepted: false };
  const { findings } = await listFindings(scratch.database, team.workspaceId, filter, null, 99);
  return findings.map(({ excerpt }) => excerpt);
}

describe('an exception for the text of a harmless match', () => {
  test('does not hide another match of the rule in the run, which is shown instead', async () => {
    const team = await addTeam();
    const { workspaceId } = team;
    const harmless = matchOf('DO NOT respond');
    const attack = matchOf('DO NOT tell the user', {
      surface: 'tool_args',
      toolName: 'mail',
      stepSpanId: '00000000000000bb',
    });
    const alone = await add(team, draftOf([harmless]));
    const both = await add(team, draftOf([harmless, attack]));
    expect(await find(team, both)).toMatchObject({
      excerpt: 'DO NOT respond',
      others: { count: 1, isCut: false, isPartlyExcepted: false },
    });
    await except(team, alone, 'text');
    expect(await find(team, alone)).toMatchObject({ isExcepted: true, others: null });
    const shown = {
      isExcepted: false,
      description: 'matched DO NOT tell the user',
      conditionIndex: 20,
      conditionDescription: 'condition of DO NOT tell the user',
      field: 'content',
      surface: 'tool_args',
      stepSpanId: '00000000000000bb',
      toolName: 'mail',
      place: { step: 20 },
    };
    const others = { count: 1, isCut: false, isPartlyExcepted: true };
    const name = { stepName: 'step of DO NOT tell the user' };
    expect(await find(team, both)).toMatchObject({
      ...shown,
      ...name,
      excerpt: 'DO NOT tell the user',
      others,
    });
    expect(await shownIn(team)).toEqual(['DO NOT tell the user']);
    const alerted = await findAlertedFindings(scratch.database, workspaceId, [alone, both]);
    expect(alerted).toMatchObject([{ id: both, ...shown, toolName: null, stepName: null }]);
    const range = { after: null, before: await settledBefore(scratch.database, -60) };
    const exported = await listFindingFacts(scratch.database, workspaceId, {}, range, 9);
    expect(exported.findings).toMatchObject([{ id: alone }, { id: both, ...shown, ...name }]);
    const { groups } = await listFindingGroups(
      scratch.database,
      workspaceId,
      { isExcepted: false },
      'match',
      'newest',
      0,
      9,
    );
    expect(groups.map(({ top }) => top.excerpt)).toEqual(['DO NOT tell the user']);
    const bySurface = await listFindings(
      scratch.database,
      workspaceId,
      { surface: 'tool_args' },
      null,
      9,
    );
    expect(bySurface.findings.map(({ id }) => id)).toEqual([both]);
    const found = await listFindings(scratch.database, workspaceId, { search: 'tell' }, null, 9);
    expect(found.findings.map(({ id }) => id)).toEqual([both]);
    expect((await listExceptions(scratch.database, workspaceId))[0]?.hidden.count).toBe(1);
    expect(await exceptionsFor(scratch.database, workspaceId, both)).toEqual([]);
  });

  test('an exception for what is shown hides it; when one ends, the finding is back', async () => {
    const team = await addTeam();
    const id = await add(team, draftOf([matchOf('one'), matchOf('two')]));
    await except(team, id, 'text');
    expect(await hiddenBy(team, id)).toContainEqual(['text', 1, 0]);
    await except(team, id, 'text');
    expect(await find(team, id)).toMatchObject({ isExcepted: true, excerpt: 'one' });
    expect(await shownIn(team)).toEqual([]);
    expect(await exceptionsFor(scratch.database, team.workspaceId, id)).toHaveLength(2);
    const [second, first] = await listExceptions(scratch.database, team.workspaceId);
    expect([second?.hidden.count, first?.hidden.count]).toEqual([1, 1]);
    await endException(scratch.database, team.workspaceId, first?.id ?? 0, team.owner);
    expect(await find(team, id)).toMatchObject({ isExcepted: false, excerpt: 'one' });
    await scratch.rows('UPDATE finding_exceptions SET expires_at = now() WHERE id = $1', [
      second?.id,
    ]);
    expect(await find(team, id)).toMatchObject({ excerpt: 'one', others: { count: 1 } });
  });

  test('more matches than are kept are covered by no text and no tool, but by their agent', async () => {
    const team = await addTeam();
    const draft = draftOf([matchOf('one'), matchOf('one', { surface: 'step_input' })], 0);
    const id = await add(team, draft);
    await except(team, id, 'text');
    expect(await find(team, id)).toMatchObject({
      isExcepted: false,
      surface: 'step_input',
      others: { count: 1, isCut: true },
    });
    expect(await hiddenBy(team, id)).toEqual([
      ['agent service', 1, 0],
      ['agent', 1, 0],
      ['service', 1, 0],
    ]);
    await expect(except(team, id, 'text')).rejects.toMatchObject({ code: 'not_found' });
    await except(team, id, 'agent');
    expect(await find(team, id)).toMatchObject({ isExcepted: true });
  });
});

test('the narrowest exception comes first: the text, in its tool, of its agent and service', async () => {
  const team = await addTeam();
  const one = matchOf('one', { toolName: 'mail' });
  const id = await add(team, draftOf([one]));
  const same = await add(team, draftOf([one]));
  const otherAgent = await add(team, draftOf([one]), { agentName: 'seller' });
  const otherTool = await add(team, draftOf([matchOf('one', { toolName: 'web' })]));
  const otherText = await add(team, draftOf([matchOf('two', { toolName: 'mail' })]));
  const hidden = await hiddenBy(team, id);
  expect(hidden).toHaveLength(15);
  expect(hidden[0]).toEqual(['text tool agent service', 2, 0]);
  for (const one of [
    ['text', 4, 1],
    ['tool', 4, 1],
    ['agent', 4, 0],
    ['service', 5, 1],
    ['text agent', 3, 0],
    ['text tool', 3, 1],
  ]) {
    expect(hidden).toContainEqual(one);
  }
  await except(team, id, ...EXCEPTION_PARTS);
  const states = await Promise.all(
    [id, same, otherAgent, otherTool, otherText].map(async (each) => {
      return (await find(team, each))?.isExcepted;
    }),
  );
  expect(states).toEqual([true, true, false, false, false]);
  expect(await listExceptions(scratch.database, team.workspaceId)).toMatchObject([
    { text: true, agent: 'buyer', service: 'shop', tool: 'mail' },
  ]);
  await expect(except(team, id, ...EXCEPTION_PARTS)).rejects.toMatchObject({ code: 'conflict' });
});

test('a finding is excepted exactly if every match is covered, else it shows the first that is not', async () => {
  const texts = fc.constantFrom('one', 'two', 'three');
  const tools = fc.constantFrom(null, 'mail', 'web');
  const places = fc.uniqueArray(fc.tuple(texts, tools, fc.constantFrom(...SURFACES.slice(0, 3))), {
    minLength: 1,
    maxLength: 5,
    selector: String,
  });
  const agents = fc.constantFrom(null, 'buyer', 'seller');
  const parts = fc.subarray([...EXCEPTION_PARTS], { minLength: 1 });
  const exceptions = fc.array(fc.tuple(parts, agents, texts, tools), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(places, agents, exceptions, fc.boolean(), async (given, agent, made, rest) => {
      const team = await addTeam();
      const matches = given.map(([text, toolName, surface]) =>
        matchOf(text, { toolName, surface, excerpt: `${text} ${toolName} ${surface}` }),
      );
      const restFrom = rest ? matches.length - 2 : Infinity;
      const id = await add(team, draftOf(matches, restFrom), { agentName: agent });
      const kept = made.filter(([chosen, byAgent, , tool]) => {
        const names = { text: 'any', tool, agent: byAgent, service: 'shop' };
        return chosen.some((part) => names[part] !== null);
      });
      for (const [chosen, byAgent, text, tool] of kept) {
        const { matchSha256 } = matchOf(text);
        await scratch.database.query(
          `INSERT INTO finding_exceptions (workspace_id, rule_id, match_digest, agent_name,
             service_name, tool_name, reason, created_by, expires_at)
           SELECT $1, $2, CASE WHEN $3::text IS NOT NULL THEN sha256(match_key_outer
                    || sha256(match_key_inner || decode($3, 'hex'))) END,
                  $4, $5, $6, 'r', 'c', now() + interval '1 day'
             FROM workspaces WHERE id = $1`,
          [
            team.workspaceId,
            RULE,
            chosen.includes('text') ? matchSha256 : null,
            chosen.includes('agent') ? (byAgent ?? '') : null,
            chosen.includes('service') ? 'shop' : null,
            chosen.includes('tool') ? (tool ?? '') : null,
          ],
        );
      }
      const isCovered = ({ excerpt }: MatchedPlace, index: number): boolean => {
        const isRest = index - 1 >= restFrom && index > 0;
        const [text, tool] = excerpt.split(' ');
        return kept.some(([chosen, byAgent, ofText, ofTool]) => {
          const has = {
            text: !isRest && ofText === text,
            tool: !isRest && String(ofTool) === tool,
            agent: byAgent === agent,
            service: true,
          };
          return chosen.every((part) => has[part]);
        });
      };
      const uncovered = matches.findIndex((match, index) => !isCovered(match, index));
      expect(await find(team, id)).toMatchObject({
        isExcepted: uncovered === -1,
        excerpt: matches[Math.max(0, uncovered)]?.excerpt,
      });
      expect(await shownIn(team)).toHaveLength(uncovered === -1 ? 0 : 1);
    }),
    { numRuns: 40 },
  );
});

test('places of a later attempt are added to a finding, once and up to the bound', async () => {
  const team = await addTeam();
  const run = await addRun(team);
  const first = evaluationOf(run, draftOf([matchOf('one'), matchOf('two')]), {});
  expect(await keepFindings(scratch.database, first, CORPUS)).toEqual(['high']);
  const id = await idOf(team, run.runId);
  const before = await find(team, id);
  const again = draftOf([matchOf('two'), matchOf('three'), matchOf('one')]);
  const second = { ...first, findings: [again] };
  expect(await keepFindings(scratch.database, second, CORPUS)).toEqual([]);
  expect(await find(team, id)).toEqual({ ...before, others: { ...before?.others, count: 2 } });
  const many = Array.from({ length: MORE_PLACES_MAX + 1 }, (_, n) => matchOf(`further ${n}`));
  const most = { ...first, findings: [draftOf(many.slice(0, MORE_PLACES_MAX - 2))] };
  await keepFindings(scratch.database, most, CORPUS);
  expect((await find(team, id))?.others).toMatchObject({ count: MORE_PLACES_MAX, isCut: false });
  await completeRuns(scratch.database, [{ ...first, findings: [draftOf(many)] }], CORPUS);
  const others = { count: MORE_PLACES_MAX + 1, isCut: true };
  expect((await find(team, id))?.others).toMatchObject(others);
});

test('a hidden finding that gets an uncovered match is alerted', async () => {
  const team = await addTeam();
  await scratch.database.query(
    `INSERT INTO alert_destinations (workspace_id, name, format, url, severities)
     VALUES ($1, 'd', 'json', 'https://example.com', '{high}')`,
    [team.workspaceId],
  );
  const queued = () =>
    scratch.rows('SELECT finding_id FROM alert_outbox WHERE workspace_id = $1', [team.workspaceId]);
  await except(team, await add(team, draftOf([matchOf('one')])), 'text');
  const run = await addRun(team);
  const first = evaluationOf(run, draftOf([matchOf('one')]), {});
  await keepFindings(scratch.database, first, CORPUS);
  await scratch.database.query('DELETE FROM alert_outbox');
  await keepFindings(scratch.database, first, CORPUS);
  expect(await queued()).toEqual([]);
  await completeRuns(
    scratch.database,
    [{ ...first, findings: [draftOf([matchOf('one'), matchOf('two')])] }],
    CORPUS,
  );
  const id = await idOf(team, run.runId);
  expect(await queued()).toEqual([{ finding_id: id }]);
  expect(await findAlertedFindings(scratch.database, team.workspaceId, [id])).toHaveLength(1);
});

test('no text of a place is kept by a workspace that redacts, and digests stay', async () => {
  const team = await addTeam();
  const { workspaceId } = team;
  const places = [
    matchOf('harmless'),
    matchOf('secret-1', { stepNameMatched: true, stepName: 'name of secret-1' }),
    matchOf('secret-2', {
      surface: 'tool_name',
      toolName: 'secret-2',
      stepNameMatched: true,
      stepName: 'secret-2',
      place: { ...findingDraft().place, nameDigests: ['digest of secret 2'] },
    }),
    matchOf('half \ud83d'),
  ].map((place) => ({ ...place, description: 'd', conditionDescription: 'c' }));
  const stored = async () => {
    const rows = await scratch.rows(
      'SELECT more_places FROM findings WHERE workspace_id = $1 ORDER BY created_at DESC LIMIT 1',
      [workspaceId],
    );
    return JSON.stringify(rows);
  };
  const id = await add(team, draftOf(places));
  expect(await stored()).toContain('secret-1');
  expect(await stored()).toContain('half \ufffd');
  await except(team, id, 'text');
  expect(await find(team, id)).toMatchObject({ excerpt: 'secret-1', stepName: 'name of secret-1' });
  await setRedaction(scratch.database, workspaceId, true, COMMAND_LINE);
  expect(await stored()).not.toContain('secret-');
  expect(await find(team, id)).toMatchObject({ excerpt: null, stepName: null, isExcepted: false });
  const [finding] = await scratch.rows('SELECT run_id FROM findings WHERE id = $1', [id]);
  const run = await findRun(scratch.database, workspaceId, String(finding?.run_id));
  expect(run?.redactedNames).toEqual(['digest of secret 2']);
  await except(team, id, 'text');
  for (const redactExcerpts of [true, false]) {
    // False: it was claimed before the switch, and the statement sees the setting.
    const later = await add(team, draftOf(places), { redactExcerpts });
    expect(await stored()).not.toContain('secret-');
    expect(await find(team, later)).toMatchObject({ surface: 'tool_name', toolName: null });
  }
});
