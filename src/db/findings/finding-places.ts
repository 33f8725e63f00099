/**
 * SQL over `findings.more_places`: a finding's distinct matches after the first, which is in its columns.
 * One JSON array, written with the finding; later matches of the same run are added to it.
 */
import { MORE_PLACES_MAX } from '../../model/findings.ts';

/** The further places of a finding, as rows `(place, ordinal)`. */
export const placesOf = (finding: string, as: string): string =>
  `jsonb_array_elements(${finding}.more_places) WITH ORDINALITY AS ${as} (place, ordinal)`;

const firstPlace = (finding: string): string => `jsonb_build_object(
    'description', ${finding}.description, 'condition', ${finding}.condition_index,
    'conditionDescription', ${finding}.condition_description, 'field', ${finding}.field,
    'surface', ${finding}.surface, 'span', encode(${finding}.step_span_id, 'hex'),
    'stepName', ${finding}.step_name, 'stepNameMatched', ${finding}.step_name_matched,
    'tool', ${finding}.tool_name, 'excerpt', ${finding}.excerpt,
    'digest', encode(${finding}.match_digest, 'hex'), 'place', ${finding}.place::jsonb, 'rest', false)`;

const allPlaces = (finding: string): string =>
  `jsonb_build_array(${firstPlace(finding)}) || coalesce(${finding}.more_places, '[]')`;

/** Removes from a stored place what a workspace that redacts must not keep. */
export const withoutText = (place: string): string => `(${place} || '{"excerpt": null}'
    || CASE WHEN (${place}->>'stepNameMatched')::boolean THEN '{"stepName": null}' ELSE '{}' END::jsonb
    || CASE WHEN ${place}->>'surface' = 'tool_name' THEN '{"tool": null}' ELSE '{}' END::jsonb)`;

/** Checks whether a stored place has something that `withoutText` removes. */
const hasText = (place: string): string => `(${place}->>'excerpt' IS NOT NULL
    OR ((${place}->>'stepNameMatched')::boolean AND ${place}->>'stepName' IS NOT NULL)
    OR (${place}->>'surface' = 'tool_name' AND ${place}->>'tool' IS NOT NULL))`;

export const hasTextInPlaces = (finding: string): string =>
  `EXISTS (SELECT FROM ${placesOf(finding, 'more')} WHERE ${hasText('more.place')})`;

export const placesWithoutText = (finding: string): string =>
  `(SELECT jsonb_agg(${withoutText('more.place')} ORDER BY more.ordinal) FROM ${placesOf(finding, 'more')})`;

const isRest = (place: string): string => `coalesce((${place}->>'rest')::boolean, false)`;
const isSame = (one: string, other: string): string =>
  ['digest', 'surface', 'tool']
    .map((key) => `${one}->>'${key}' IS NOT DISTINCT FROM ${other}->>'${key}'`)
    .join(' AND ');

/** The places of a finding, with those that it lacks of a later evaluation's finding of the rule. */
export const mergedPlaces = (kept: string, added: string): string => `
  CASE WHEN ${isRest(`${kept}.more_places->-1`)} THEN ${kept}.more_places ELSE (
    SELECT jsonb_agg(CASE WHEN number > ${MORE_PLACES_MAX} THEN place || '{"rest": true}' ELSE place END
                     ORDER BY number)
      FROM (SELECT place, row_number() OVER (ORDER BY part, ordinal) AS number
              FROM (SELECT 1 AS part, ordinal, place FROM ${placesOf(kept, 'own')}
                    UNION ALL
                    SELECT 2, later.ordinal, later.place
                      FROM jsonb_array_elements(${allPlaces(added)}) WITH ORDINALITY
                           AS later (place, ordinal)
                     WHERE ${isRest('later.place')} OR NOT EXISTS (
                       SELECT FROM jsonb_array_elements(${allPlaces(kept)}) AS known (place)
                        WHERE ${isSame('known.place', 'later.place')})) AS both_parts
           ) AS numbered WHERE number <= ${MORE_PLACES_MAX + 1}) END`;
