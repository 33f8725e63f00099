/** The settings page, the page of members and invitations, and the confirmation of `sluice login`. */
import { z } from 'zod';
import { readRuleSettings } from '../../db/findings/rule-settings.ts';
import {
  decideDeviceLogin,
  findDeviceLogin,
  parseUserCode,
} from '../../db/people/device-logins.ts';
import { listInvitations } from '../../db/people/invitations.ts';
import {
  createInvitation,
  removeMember,
  revokeInvitation,
  setRole,
} from '../../db/people/member-writes.ts';
import { listMembers, listMemberships } from '../../db/people/memberships.ts';
import { readStoredRedaction, setStoredRedaction } from '../../db/people/redaction-writes.ts';
import { listSessions, switchSession } from '../../db/people/sessions.ts';
import { renameWorkspace, setRedaction } from '../../db/people/workspace-writes.ts';
import { SluiceError } from '../../errors.ts';
import type { DeviceLogin } from '../../model/people.ts';
import { LIBRARY, type RedactionSettings } from '../../model/redaction/redaction.ts';
import { membersPage } from '../../web/app/members.ts';
import { settingsPage } from '../../web/app/settings.ts';
import { shownOncePage } from '../../web/app/shell.ts';
import { devicePage } from '../../web/app/sign-in.ts';
import { evidenceKeyOf } from '../api/evidence/evidence-routes.ts';
import { pageAnswer } from '../transport/answers.ts';
import { flag, InvalidInput, parsePageQuery, readForm } from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import {
  type AppDependencies,
  accountFormRoutes,
  formRoutes,
  pageRoutes,
  viewerOf,
  WITH_QUERY,
} from './dashboard.ts';
import { ruleFactsOf } from './rule-pages.ts';
import { beginSession, changePassword, endOtherSessions, endSession } from './sign-in/accounts.ts';
import {
  email,
  name,
  newPassword,
  PASSWORD_CHARS_MIN,
  password,
  requireId,
  role,
  slug,
} from './sign-in/person-fields.ts';
import { ADMINS, type Needs, type SignedInRequest } from './sign-in/signed-in.ts';

const PATH = '/app/settings';

const OWN_PATTERNS_CHARS_MAX = 10_000;

const workspaceForm = z
  .strictObject({
    name: name.optional(),
    redact_excerpts: flag.optional(),
    redact_before_storage: flag.optional(),
    own_patterns: z.string().max(OWN_PATTERNS_CHARS_MAX).default(''),
    ...Object.fromEntries(
      LIBRARY.map((one) => [`library_${one.name}`, z.literal('on').optional()] as const),
    ),
  })
  .refine(
    (sent) => [sent.name, sent.redact_excerpts, sent.redact_before_storage].some(isGiven),
    'must name something to change',
  );
const passwordForm = z.object({ current_password: password, new_password: newPassword });
const switchForm = z.object({ workspace: slug });

const isGiven = (value: unknown): boolean => value !== undefined;

/** @throws {InvalidInput} with every fault */
function redactionOf(
  sent: z.infer<typeof workspaceForm>,
  faultsOf: AppDependencies['redactionFaults'],
): RedactionSettings {
  const chosen = new Set(Object.keys(sent));
  const library = LIBRARY.map((one) => one.name).filter((one) => chosen.has(`library_${one}`));
  const lines = sent.own_patterns.split(/\r?\n/).filter((line) => line.trim() !== '');
  const patterns = lines.map((line) => {
    const [, first = '', pattern = ''] = /^(\S*)\s+(.*)$/.exec(line) ?? [];
    return { name: first, pattern };
  });
  const settings = { library, patterns };
  const faults = faultsOf(settings).map((message) => ({ path: 'patterns', message }));
  if (faults.length > 0) throw new InvalidInput('bad_body', faults);
  return settings;
}

function workspaceRoutes(deps: AppDependencies): Route[] {
  const { db, look, rules } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, {}, async ({ request: { session, workspace }, viewer, nowMs }) => {
      const [sessions, workspaces, ruleSettings, evidenceKey, redaction] = await Promise.all([
        listSessions(db.accounts, session.userId),
        listMemberships(db.accounts, session.userId),
        db.readFresh(readRuleSettings, workspace.id),
        evidenceKeyOf(deps, workspace.id),
        db.readFresh(readStoredRedaction, workspace.id),
      ]);
      return settingsPage(look, viewer, {
        slug: workspace.slug,
        redactExcerpts: workspace.redactExcerpts,
        evidenceKey,
        redaction,
        rules: ruleFactsOf(rules, ruleSettings),
        sessions: sessions.map((one) => ({ ...one, isThis: one.id === session.id })),
        workspaces,
        passwordCharsMin: PASSWORD_CHARS_MIN,
        nowMs,
      });
    }),
    form(PATH, { roles: ADMINS }, async ({ exchange, request: { workspace, actor } }) => {
      const sent = await readForm(exchange, workspaceForm);
      if (sent.name !== undefined) {
        await db.write(renameWorkspace, workspace.id, sent.name, actor);
      }
      if (sent.redact_excerpts !== undefined) {
        await db.write(setRedaction, workspace.id, sent.redact_excerpts, actor);
      }
      if (sent.redact_before_storage !== undefined) {
        const settings = sent.redact_before_storage
          ? redactionOf(sent, deps.redactionFaults)
          : null;
        await db.write(setStoredRedaction, workspace.id, settings, actor);
      }
      return PATH;
    }),
  ];
}

function accountRoutes(deps: AppDependencies): Route[] {
  const form = accountFormRoutes(deps);
  return [
    form('/app/workspace', async ({ exchange, request: { session } }) => {
      const { workspace } = await readForm(exchange, switchForm);
      if (await switchSession(deps.db.accounts, session.id, workspace)) return '/app';
      throw new SluiceError('not_found', 'This account is not a member of such a workspace.');
    }),
    form('/app/sessions/{sessionId}/end', async ({ request, parameters }) => {
      await endSession(request.session, parameters.sessionId ?? '', request, deps);
      return PATH;
    }),
    form('/app/sessions/end-others', async ({ request }) => {
      await endOtherSessions(request.session, request, deps);
      return PATH;
    }),
    form('/app/password', async ({ exchange, request }) => {
      const sent = await readForm(exchange, passwordForm);
      const given = { current: sent.current_password, next: sent.new_password };
      const user = await changePassword(request, request.session, given, deps);
      const workspace = request.session.workspace?.slug ?? null;
      return { location: PATH, headers: await beginSession(request, user, workspace, deps) };
    }),
  ];
}

export function settingsPages(deps: AppDependencies): Route[] {
  return [...workspaceRoutes(deps), ...accountRoutes(deps)];
}

const MEMBERS = '/app/members';
const INVITATIONS = '/app/invitations';
const ADMIN: Needs = { roles: ADMINS };

const roleForm = z.object({ role });
const inviteForm = z.object({ email, role });

/** Only owners change owners, which `member-writes.ts` checks. */
export function memberPages(deps: AppDependencies): Route[] {
  const { db, look, baseUrl } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(MEMBERS, {}, async ({ request, viewer, nowMs }) => {
      const { id } = request.workspace;
      const invitations = viewer.isAdmin ? await db.readFresh(listInvitations, id) : [];
      const members = await db.readFresh(listMembers, id);
      return membersPage(look, viewer, { members, invitations, nowMs });
    }),
    form(`${MEMBERS}/{userId}`, ADMIN, async ({ exchange, request, parameters }) => {
      const sent = await readForm(exchange, roleForm);
      const change = { userId: requireId(parameters.userId), role: sent.role };
      await db.write(setRole, request.workspace.id, change, request.actor);
      return MEMBERS;
    }),
    form(`${MEMBERS}/{userId}/remove`, ADMIN, async ({ request, parameters }) => {
      const id = requireId(parameters.userId);
      await db.write(removeMember, request.workspace.id, id, request.actor);
      return MEMBERS;
    }),
    form(INVITATIONS, ADMIN, async ({ exchange, request }) => {
      const sent = await readForm(exchange, inviteForm);
      const { workspace, actor } = request;
      const { token } = await db.write(createInvitation, workspace.id, sent, actor);
      const shown = {
        title: `Invitation of ${sent.email}`,
        current: MEMBERS,
        lead: 'Give them this link. It works once, and is not shown again.',
        secret: `${baseUrl}/app/invitation/${token}`,
      };
      return pageAnswer(shownOncePage(look, viewerOf(request), shown).text);
    }),
    form(`${INVITATIONS}/{invitationId}/revoke`, ADMIN, async ({ request, parameters }) => {
      const id = requireId(parameters.invitationId);
      await db.write(revokeInvitation, request.workspace.id, id, request.actor);
      return MEMBERS;
    }),
  ];
}

const DEVICE = '/app/device';
const CODE_CHARS_MAX = 40;

const userCode = z.string().max(CODE_CHARS_MAX);
const codeQuery = z.object({ user_code: userCode.optional() });
const decisionForm = z.object({ user_code: userCode, decision: z.enum(['approve', 'deny']) });

const unknownCode = () =>
  new SluiceError('not_found', 'This code is wrong, expired or already used.');

/** The user types the code that the terminal shows, or follows its link; only the form confirms. */
export function devicePages(deps: AppDependencies): Route[] {
  const { db, signInLimiter, look, events } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);

  /** Looks a typed code up, within the limits on attempts: those of a user from one network. */
  const find = async (
    typed: string,
    { session, address }: SignedInRequest,
  ): Promise<DeviceLogin & { readonly code: string }> => {
    await signInLimiter.admit(`device ${session.userId}`, address).catch((error: unknown) => {
      events.signInTried('device', 'limited', { user: session.userId, address });
      throw error;
    });
    const code = parseUserCode(typed);
    const login = code === null ? null : await findDeviceLogin(db.accounts, code);
    if (code !== null && login !== null) return { ...login, code };
    events.signInTried('device', 'failed', { user: session.userId, address });
    throw unknownCode();
  };

  return [
    page(DEVICE, WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const { user_code: typed } = parsePageQuery(codeQuery, exchange.query);
      if (typed === undefined) return devicePage(look, viewer, { state: 'typing', nowMs });
      const login = await find(typed, request);
      return devicePage(look, viewer, { state: 'deciding', login, nowMs });
    }),
    form(DEVICE, {}, async ({ exchange, request }) => {
      const sent = await readForm(exchange, decisionForm);
      const login = await find(sent.user_code, request);
      const approved = sent.decision === 'approve';
      const decision = { userCode: login.code, approved };
      const { workspace, actor } = request;
      if (!(await decideDeviceLogin(db.accounts, workspace.id, decision, actor))) {
        throw unknownCode();
      }
      const state = approved ? 'approved' : 'denied';
      const shown = devicePage(look, viewerOf(request), { state, login, nowMs: deps.nowMs() });
      return pageAnswer(shown.text);
    }),
  ];
}
