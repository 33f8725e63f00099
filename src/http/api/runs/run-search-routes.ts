/** The search for runs by a text of their stored steps: query, route and operation. */
import { z } from 'zod';

import { RUNS_NOT_SEARCHED } from '../../../model/runs.ts';
import { json } from '../../transport/problem.ts';
import { hexId, parseQuery, wholeNumber } from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import type { BodyOf } from '../openapi/component.ts';
import type { ApiSettings, Operation } from '../openapi/operation.ts';
import { badQuery, example, found, READ, READ_REFUSALS } from '../openapi/shared-answers.ts';
import { ATTACK } from '../otlp/otlp-examples.ts';
import {
  exampleItem,
  RUN_FILTER_EXAMPLES,
  type RunReader,
  redacted,
  runFilterOf,
  runsQuery,
} from './run-routes.ts';
import { runSearch, toRunItem } from './run-schema.ts';

const TEXT_CHARS_MIN = 3;
const TEXT_CHARS_MAX = 200;
const SEARCH_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_MAX = 100;

/** A text that is searched for. */
export const searchedText = z
  .string()
  .min(TEXT_CHARS_MIN)
  .max(TEXT_CHARS_MAX)
  .describe(
    'Only runs with this text in a name, an attribute or a body, also in JSON that an attribute holds. A to Z count as a to z.',
  );
/** Where a search continues. */
export const searchCursor = hexId.describe('`next_cursor` of the page before.');

/** The parameters of the search. */
const searchQuery = runsQuery.extend({
  text: searchedText,
  cursor: searchCursor.optional(),
  limit: wholeNumber(1, SEARCH_LIMIT_MAX, SEARCH_LIMIT_DEFAULT).describe(
    'The page ends with the block of runs that reaches so many.',
  ),
});

/** `GET /platform/v1/runs/search` */
export function searchRuns(reader: Pick<RunReader, 'search' | 'times'>): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(searchQuery, exchange.query);
    const { text, cursor = null, limit } = query;
    const filter = runFilterOf(query);
    const page = await reader.search(workspaceId, { text, filter, cursor, limit }, exchange.signal);
    const body: BodyOf<typeof runSearch> = {
      runs: page.runs.map((run) => ({
        ...toRunItem(run, reader.times),
        text_match: run.textMatch,
      })),
      searched_to: page.searchedTo?.toISOString() ?? null,
      blocks_tested: page.blocks,
      blocks_read: page.blocksRead,
      blocks_unreadable: page.blocksUnreadable,
      pending_left_out: page.pendingLeftOut,
      next_cursor: page.next,
    };
    return json(body);
  };
}

/** The text that the example of the search has. */
const SEARCHED = ATTACK.split(' ').slice(0, 3).join(' ');

function foundExample(settings: ApiSettings) {
  const [before = '', after = ''] = ATTACK.split(SEARCHED);
  return example('found', 'One run has the text.', {
    runs: [{ ...exampleItem(settings), text_match: { before, match: SEARCHED, after } }],
    searched_to: null,
    blocks_tested: 1,
    blocks_read: 1,
    blocks_unreadable: 0,
    pending_left_out: false,
    next_cursor: null,
  });
}

export function runSearchOperations(settings: ApiSettings): Operation[] {
  return [
    {
      ...READ,
      path: '/platform/v1/runs/search',
      operationId: 'searchRuns',
      tag: 'Runs',
      summary: 'Search runs for a text',
      description:
        'Runs whose stored steps contain a text, the newest first. A page ends when it has enough runs, or after two ' +
        'seconds or 64 MiB of text: it may have no runs and still have a `next_cursor`. A workspace that redacts excerpts ' +
        'answers 409.',
      query: searchQuery,
      queryExamples: { ...RUN_FILTER_EXAMPLES, text: SEARCHED, limit: '20' },
      responses: {
        ...found('A page of the search.', runSearch, [foundExample(settings)]),
        ...redacted(RUNS_NOT_SEARCHED),
        ...READ_REFUSALS,
        ...badQuery('limit', 'must be a whole number from 1 to 100, in digits'),
      },
    },
  ];
}
