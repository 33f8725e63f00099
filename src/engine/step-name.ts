/**
 * The name of a step: the same in findings, on the run's page and in the API. Senders choose it.
 */
import { createHash } from 'node:crypto';
import type { Step } from '../model/steps.ts';

/** A name is cut to this length: a run may have thousands of findings and steps. */
const NAME_UNITS_MAX = 256;
/** A lone surrogate, left by a cut. */
const LONE_SURROGATE = /[\ud800-\udbff]$/;

/**
 * A span's name; of a log record the name of its event, which older senders put into an attribute
 * (`event.name`), with or without the field for it. Empty for a step without a name.
 */
export function stepNameOf({ source, name, attributes }: Step): string {
  const event = source === 'log' ? attributes['event.name'] : undefined;
  const whole = typeof event === 'string' && event !== '' ? event : name;
  return cutName(whole);
}

export function cutName(name: string): string {
  return name.slice(0, NAME_UNITS_MAX).replace(LONE_SURROGATE, '');
}

/** Identifies a name that must not be stored. */
export function nameDigest(name: string): string {
  return createHash('sha256').update(name).digest('base64');
}
