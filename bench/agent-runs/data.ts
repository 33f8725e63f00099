/** Names of the data that benchmarks measure beside their own bodies. Pure. */

export const MODEL_CALLS = { conv3: 3, conv10: 10, conv30: 30 } as const;
export type AgentData = keyof typeof MODEL_CALLS;
export type RunData = AgentData | 'plain';
export const AGENT_DATA = Object.keys(MODEL_CALLS) as AgentData[];
export const RUN_DATA: readonly RunData[] = ['plain', ...AGENT_DATA];

/** Says which data a result lacks, as older ones do. @param names of everything that was measured */
export function notMeasured(names: readonly string[], data: readonly RunData[] = RUN_DATA): string {
  const missing = data.filter((one) => !names.some((name) => name.includes(one)));
  return missing.length === 0 ? '' : `Not measured yet: ${missing.join(', ')}.`;
}
