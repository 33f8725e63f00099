/** Owns the choice of the line that makes the sender of a run send text (`conventions/capture.ts`). */
import type { Step } from '../../../model/steps.ts';
import { CAPTURE } from '../conventions/capture.ts';
import type { StepSelector } from './convention.ts';

/** The senders that a run's steps show, each once. */
interface Sender {
  readonly scopes: ReadonlySet<string>;
  readonly services: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
}

/**
 * The line of configuration or code that makes the instrumentation of these steps send text; null for
 * one that is not known, or that needs none. Linear in the number of attributes.
 */
export function captureHintOf(steps: readonly Step[]): string | null {
  const sender: Sender = {
    scopes: new Set(steps.map(({ scopeName }) => scopeName)),
    services: new Set(steps.flatMap(({ serviceName }) => serviceName ?? [])),
    keys: new Set(steps.flatMap(({ attributes }) => Object.keys(attributes))),
  };
  return CAPTURE.find(({ fits }) => isFrom(sender, fits))?.line ?? null;
}

function isFrom({ scopes, services, keys }: Sender, fits: StepSelector): boolean {
  return (
    anyBegins(scopes, fits.scopes) ||
    anyBegins(services, fits.services) ||
    anyBegins(keys, fits.attributes)
  );
}

function anyBegins(names: ReadonlySet<string>, prefixes: readonly string[] = []): boolean {
  return prefixes.some((prefix) => {
    for (const name of names) if (name.startsWith(prefix)) return true;
    return false;
  });
}
