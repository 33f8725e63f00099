/** A run's surfaces, as `runs.surfaces` has them: one bit each, by the place in `SURFACES`. */
import { SURFACES, type Surface } from '../../model/steps.ts';

const bitOf = (surface: Surface): number => 1 << SURFACES.indexOf(surface);

/** SQL condition: the sender sends names of tools and no other text. */
export const HAS_NAMES_ONLY = `(surfaces | ${bitOf('tool_name')} = ${bitOf('tool_name')})`;

export const toBits = (surfaces: readonly Surface[]): number =>
  surfaces.reduce((bits, surface) => bits | bitOf(surface), 0);

export const toSurfaces = (bits: number): Surface[] =>
  SURFACES.filter((surface) => (bits & bitOf(surface)) !== 0);
