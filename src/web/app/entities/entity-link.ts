/** Links to the pages of entities. */

import { RUN_NAMES, type RunName } from '../../../model/runs.ts';
import { type EntityKind, entityPath } from '../../../model/shown/entities.ts';
import { type Html, html } from '../../html.ts';

export const KIND_OF_NAME: Readonly<Record<RunName, EntityKind>> = {
  agentName: 'agent',
  serviceName: 'service',
  userId: 'user',
  sessionId: 'session',
  model: 'model',
};

export const entityLink = (kind: EntityKind, name: string): Html =>
  html`<a href="${entityPath(kind, name)}">${name}</a>`;

/** A name that leads to a list, and a link to its own page. */
export const aboutLink = (key: RunName, name: string): Html =>
  html` <a class="soft about" href="${entityPath(KIND_OF_NAME[key], name)}" aria-label="About the ${RUN_NAMES[key].label.toLowerCase()} ${name}">about</a>`;
