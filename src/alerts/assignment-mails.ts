/**
 * Sends the e-mails to members whose assignments somebody else changed. They hold no text of a run: rule,
 * severity and link of each finding.
 */
import {
  type AssignmentNotice,
  type ClaimedMail,
  claimAssignmentMails,
  endMailAttempt,
  readAssignmentNotice,
  removeAssignmentMail,
} from '../db/alerts/assignment-mails.ts';
import type { Database } from '../db/database.ts';
import { showInvisible } from '../model/invisible.ts';
import type { Events } from '../observe/events.ts';
import type { Mailer } from './email.ts';
import { capital, cut, findingUrl, listUrl, type MessageSource, plural } from './messages.ts';

export const MAILS_AT_ONCE = 8;
export const FINDINGS_LISTED_MAX = 10;
export const NAME_CHARS = 50;

type MailSource = Pick<MessageSource, 'brand' | 'baseUrl' | 'ruleTitle'>;

export interface AssignmentMailParts {
  readonly database: Database;
  readonly mailer: Mailer;
  readonly source: MailSource;
  readonly events: Pick<Events, 'assignmentMailSent'>;
}

/** `1,000+ findings` where the e-mail may not have all of them. */
function countOf({ findings, isFull }: AssignmentNotice): string {
  if (!isFull) return plural(findings.length, 'finding');
  return `${findings.length.toLocaleString('en')}+ findings`;
}

export function assignmentEmail(
  notice: AssignmentNotice,
  source: MailSource,
): { readonly subject: string; readonly text: string } {
  const { kind, findings, actorEmail } = notice;
  const [actor, workspace] = [notice.actorName, notice.workspace].map((name) =>
    cut(showInvisible(name), NAME_CHARS),
  );
  const verb = kind === 'assigned' ? 'assigned you' : 'unassigned you from';
  const act = `${verb} ${countOf(notice)} in ${workspace}`;
  const listed = findings.slice(0, FINDINGS_LISTED_MAX).map(({ id, severity, ruleId }) => {
    const title = showInvisible(source.ruleTitle(ruleId) ?? ruleId);
    return `${capital(severity)}: ${title}\n${findingUrl(source, id)}\n`;
  });
  const others = findings.length - listed.length;
  const lines = [
    `${actor} (${showInvisible(actorEmail)}) ${act}:\n`,
    ...listed,
    ...(others > 0 ? [`and ${others.toLocaleString('en')} more\n`] : []),
    `Findings assigned to you: ${listUrl(source)}?assignee=me\n`,
    `-- \nSent because somebody else changed who these findings are assigned to.\n`,
  ];
  return { subject: `[${capital(source.brand)}] ${actor} ${act}`, text: lines.join('\n') };
}

async function sendOne(mail: ClaimedMail, parts: AssignmentMailParts): Promise<void> {
  const { database, mailer, source, events } = parts;
  const notice = await readAssignmentNotice(database, mail);
  if (notice === null) {
    await removeAssignmentMail(database, mail);
    return;
  }
  const email = {
    id: `assignment_${mail.id}`,
    to: [notice.to],
    ...assignmentEmail(notice, source),
  };
  const result = await mailer(email);
  const outcome = await endMailAttempt(database, mail, result);
  const { failure, status } = result;
  events.assignmentMailSent({ workspace: mail.workspaceId, outcome, failure, status });
}

export async function sendAssignmentMails(parts: AssignmentMailParts): Promise<void> {
  const mails = await claimAssignmentMails(parts.database, MAILS_AT_ONCE);
  // All of them end before the next turn begins, and before the process stops.
  const ended = await Promise.allSettled(mails.map((mail) => sendOne(mail, parts)));
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
