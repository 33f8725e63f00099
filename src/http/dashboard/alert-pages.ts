/** The pages of alerts and their forms: destinations, test messages, the delivery log. For admins. */
import { z } from 'zod';
import { listDead, listDeliveries } from '../../db/alerts/deliveries.ts';
import {
  createDestination,
  deleteDestination,
  listDestinations,
  pauseDestination,
  renewSecret,
  resendDead,
  updateDestination,
} from '../../db/alerts/destinations.ts';
import { SluiceError } from '../../errors.ts';
import {
  AGENT_MATCHES,
  ALERT_FORMATS,
  type DestinationSettings,
  RECIPIENTS_MAX,
  URL_CHARS_MAX,
} from '../../model/alerts.ts';
import { CATEGORIES, SEVERITIES } from '../../model/rules.ts';
import { alertsPage, destinationPage, testedPage } from '../../web/app/alerts.ts';
import { shownOncePage } from '../../web/app/shell.ts';
import { testDestination } from '../cli/alert-calls.ts';
import { pageAnswer } from '../transport/answers.ts';
import type { Exchange } from '../transport/exchange.ts';
import { flag, hexId, InvalidInput, readForm } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, formRoutes, pageRoutes, viewerOf } from './dashboard.ts';
import { email, name, requireId } from './sign-in/person-fields.ts';
import { ADMINS, type SignedInRequest } from './sign-in/signed-in.ts';

const PATH = '/app/alerts';
const ONE = `${PATH}/{destinationId}`;
const AGENT_CHARS_MAX = 200;
const SECRET_LEAD = 'The signing secret. Copy it into the receiver now: it is not shown again.';

/** A field for each category: a form has no lists. */
const categoryFields = Object.fromEntries(
  CATEGORIES.map((category) => [`category_${category}`, z.literal('on').optional()]),
);

const destinationForm = z.object({
  name,
  format: z.enum(ALERT_FORMATS),
  url: z.string().trim().max(URL_CHARS_MAX).default(''),
  recipients: z
    .string()
    .default('')
    .transform((text) => text.split(/[\s,;]+/).filter((one) => one !== ''))
    .pipe(z.array(email).max(RECIPIENTS_MAX)),
  min_severity: z.enum(SEVERITIES),
  agent: z.string().trim().max(AGENT_CHARS_MAX).default(''),
  agent_match: z.enum(AGENT_MATCHES).default('contains'),
  shows_user: z.literal('on').optional(),
  tool_changes: z.literal('on').optional(),
  ...categoryFields,
});

const fault = (path: string, message: string) => new InvalidInput('bad_body', [{ path, message }]);

/** @param isNew a webhook that is changed may keep its URL */
async function readDestination(
  exchange: Exchange,
  { canEmail, faultOfUrl }: AppDependencies['alertSender'],
  isNew: boolean,
) {
  const sent = await readForm(exchange, destinationForm);
  const fields: Readonly<Record<string, unknown>> = sent;
  const filter: DestinationSettings['filter'] = {
    minSeverity: sent.min_severity,
    categories: CATEGORIES.filter((one) => fields[`category_${one}`] === 'on'),
    agent: sent.agent === '' ? null : sent.agent,
    agentMatch: sent.agent_match,
  };
  const settings = {
    name: sent.name,
    filter,
    showsUser: sent.shows_user === 'on',
    toolChanges: sent.tool_changes === 'on',
  };
  if (sent.format === 'email') {
    if (!canEmail) throw fault('format', 'e-mail is not set up on this server (SMTP_URL)');
    if (sent.recipients.length === 0) throw fault('recipients', 'must have an e-mail address');
    const target = { format: sent.format, recipients: sent.recipients };
    return { ...settings, target };
  }
  const { format, url } = sent;
  if (!isNew && url === '') return { ...settings, target: { format, url: null } };
  const wrong = faultOfUrl(url);
  if (wrong !== null) throw fault('url', wrong);
  return { ...settings, target: { format, url } };
}

function readingRoutes(deps: AppDependencies): Route[] {
  const { db, alertSender, look } = deps;
  const page = pageRoutes(deps);
  const needs = { roles: ADMINS };
  return [
    page(PATH, needs, async ({ request: { workspace }, viewer, nowMs }) => {
      const [destinations, deliveries, dead] = await Promise.all([
        db.readFresh(listDestinations, workspace.id),
        db.readFresh(listDeliveries, workspace.id),
        db.readFresh(listDead, workspace.id),
      ]);
      return alertsPage(look, viewer, {
        destinations,
        deliveries,
        dead,
        nowMs,
        canEmail: alertSender.canEmail,
      });
    }),
    page(ONE, needs, async ({ request: { workspace }, viewer, parameters, nowMs }) => {
      const id = requireId(parameters.destinationId);
      const all = await db.readFresh(listDestinations, workspace.id);
      const found = all.find((one) => one.id === id);
      if (found === undefined) throw noDestination();
      return destinationPage(look, viewer, {
        destination: found,
        nowMs,
        canEmail: alertSender.canEmail,
      });
    }),
  ];
}

const noDestination = () => new SluiceError('not_found', 'The workspace has no such destination.');

function changingRoutes(deps: AppDependencies): Route[] {
  const { db, alertSender, look } = deps;
  const form = formRoutes(deps);
  const needs = { roles: ADMINS };
  const secretPage = (request: SignedInRequest, title: string, secret: string) => {
    const shown = { title, current: PATH, lead: SECRET_LEAD, secret };
    return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
  };
  return [
    form(PATH, needs, async ({ exchange, request }) => {
      const settings = await readDestination(exchange, alertSender, true);
      const { workspace, actor } = request;
      const wanted = settings as DestinationSettings;
      const made = await db.write(createDestination, workspace.id, wanted, actor);
      return made.secret === null ? PATH : secretPage(request, settings.name, made.secret);
    }),
    form(ONE, needs, async ({ exchange, request: { workspace, actor }, parameters }) => {
      const id = requireId(parameters.destinationId);
      const settings = await readDestination(exchange, alertSender, false);
      await db.write(updateDestination, workspace.id, id, settings, actor);
      return `${PATH}/${id}`;
    }),
    form(`${ONE}/pause`, needs, async ({ exchange, request: { workspace, actor }, parameters }) => {
      const { paused } = await readForm(exchange, z.object({ paused: flag }));
      const id = requireId(parameters.destinationId);
      await db.write(pauseDestination, workspace.id, id, paused, actor);
      return `${PATH}/${id}`;
    }),
    form(`${ONE}/delete`, needs, async ({ request: { workspace, actor }, parameters }) => {
      const id = requireId(parameters.destinationId);
      await db.write(deleteDestination, workspace.id, id, actor);
      return PATH;
    }),
    form(`${ONE}/secret`, needs, async ({ request, parameters }) => {
      const id = requireId(parameters.destinationId);
      const secret = await db.write(renewSecret, request.workspace.id, id, request.actor);
      return secretPage(request, 'New signing secret', secret);
    }),
  ];
}

function sendingRoutes(deps: AppDependencies): Route[] {
  const { db, alertSender, look } = deps;
  const form = formRoutes(deps);
  const needs = { roles: ADMINS };
  return [
    form(`${ONE}/test`, needs, async ({ request, parameters }) => {
      const id = requireId(parameters.destinationId);
      const tested = await testDestination(db, alertSender, request.workspace.id, id);
      return pageAnswer(testedPage(look, viewerOf(request), { ...tested, id }).text);
    }),
    form(`${ONE}/send-again`, needs, async ({ exchange, request, parameters }) => {
      const { message } = await readForm(exchange, z.object({ message: hexId }));
      const { workspace, actor } = request;
      const id = requireId(parameters.destinationId);
      await db.write(resendDead, workspace.id, id, message, actor);
      return PATH;
    }),
  ];
}

export function alertPages(deps: AppDependencies): Route[] {
  return [...readingRoutes(deps), ...changingRoutes(deps), ...sendingRoutes(deps)];
}
