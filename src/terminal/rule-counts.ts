/** The rules in numbers, as the server's start and the commands print them. */
import {
  allRules,
  runningRules,
  type Snapshot,
  type StateCounts,
  type SupportCounts,
  shortIdentity,
} from '../model/rules.ts';

/** `51 of 785 rules run (47 fully supported, 4 partly), …`: two lines that add up to all rules. */
export function stateLines(counts: StateCounts): readonly [string, string] {
  const cannot = counts.unsupported + counts.draft_or_deprecated + counts.fails_own_examples;
  return [
    `${runningRules(counts)} of ${allRules(counts)} rules run: ` +
      `${counts.as_written} fully supported, ${counts.degraded} partly supported`,
    `off: ${counts.off_by_tier} experimental, ${counts.off_by_override} set manually; ` +
      `cannot run: ${cannot} (${counts.unsupported} not supported, ` +
      `${counts.draft_or_deprecated} draft or deprecated, ` +
      `${counts.fails_own_examples} fail their own tests)`,
  ];
}

/** Returns `corpus 4.0.0 (0123456789ab)`. */
export function corpusName(version: string, identity: string): string {
  return `corpus ${version} (${shortIdentity(identity)})`;
}

/** `corpus 4.0.0 (0123456789ab): 657 fully supported, …` */
export function corpusLine(
  snapshot: Pick<Snapshot, 'version' | 'identity'>,
  counts: SupportCounts,
): string {
  return (
    `${corpusName(snapshot.version, snapshot.identity)}: ${counts.as_written} fully supported, ` +
    `${counts.degraded} partly, ${counts.unsupported} not, ` +
    `${counts.fails_own_examples} fail their own tests`
  );
}
