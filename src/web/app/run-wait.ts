/** Explains on a run's page why the run is not evaluated yet. */
import type { RunWait } from '../../model/run-wait.ts';
import { type Html, html } from '../html.ts';
import { duration } from './format.ts';

const REASONS: Readonly<Record<RunWait['for'], string>> = {
  session_end:
    'Its session is still open: the next prompt of the session, or its end, finishes this run.',
  root_span: 'Its root span has not arrived.',
  late_steps: 'It is finished, and steps of it may still arrive.',
};

export function waitLine(wait: RunWait): Html {
  const iso = wait.until.toISOString();
  const silence = duration(wait.silenceMs);
  return html`<p class="soft">Not evaluated yet. ${REASONS[wait.for]} If nothing more of it arrives, it is evaluated ${silence} after its last step, at <time datetime="${iso}">${iso}</time>.</p>`;
}
