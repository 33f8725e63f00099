/** Findings for tests of incidents. */
import type { IncidentFinding, IncidentPlace } from '../../../src/model/incidents/incidents.ts';
import type { Surface } from '../../../src/model/steps.ts';

let digests = 0;

export function place(
  step: number,
  surface: Surface,
  {
    at = String(step),
    text = 0,
    tool = null,
    digest,
  }: {
    at?: string;
    text?: number;
    tool?: string | null;
    /** another for each place unless it is given */
    digest?: string | null;
  } = {},
): IncidentPlace {
  digests += 1;
  const own = digest === undefined ? `digest-${digests}` : digest;
  return { step, atUnixNano: at, text, surface, tool, digest: own };
}

type Given = Partial<Omit<IncidentFinding, 'createdAt'>> & { rule?: string; at?: number };

/** @param given.at minutes */
export function finding({ rule = 'r', at = 0, ...given }: Given): IncidentFinding {
  const runId = given.runId ?? 'run-1';
  return {
    id: `${runId}-${rule}`,
    runId,
    createdAt: new Date(at * 60_000),
    ruleId: rule,
    severity: 'high',
    category: 'prompt-injection',
    agentName: 'planner',
    serviceName: 'shop',
    userId: null,
    sessionId: null,
    state: 'new',
    places: [],
    ...given,
  };
}
