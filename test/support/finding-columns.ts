/** Columns of findings that tests which insert rows do not look at, with values that any finding may have. */
import type { FindingPlace } from '../../src/model/findings.ts';

const PLACE: FindingPlace = {
  step: 1,
  source: 'span',
  startUnixNano: '1' as FindingPlace['startUnixNano'],
  arrivedOn: '2026-11-20',
  twin: 0,
  text: 0,
  match: { start: 0, end: 1 },
  inExcerpt: { start: 0, end: 1 },
  nameDigests: [],
};

/** For the columns and values of an INSERT. */
export const PLACED = {
  columns: 'corpus_identity, step_name_matched, place',
  values: `sha256('corpus'), false, '${JSON.stringify(PLACE)}'::json`,
};

/** The same, with a digest of matched text that no other finding has. */
export const DIGESTED = {
  columns: `${PLACED.columns}, match_digest`,
  values: `${PLACED.values}, sha256(uuid_send(gen_random_uuid()))`,
};
