// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of sources
/** Planted defects of conditions with a time or a count, and of guards that nothing had triggered. */
import type { Mutant } from './mutant.ts';

const DEVICES = ['test/db/people/device-logins.test.ts'];
const SESSIONS = ['test/db/people/sessions.test.ts'];
const DESTINATIONS = ['test/db/alerts/destinations.test.ts'];
const DELIVERIES = ['test/db/alerts/deliveries.test.ts'];
const OUTBOX = ['test/db/alerts/outbox.test.ts'];
const EXCEPTIONS = ['test/db/findings/exceptions.test.ts'];
const PREVIEWS = ['test/db/previews/preview-queue.test.ts'];
const RUNS = ['test/db/retention/outdated-runs.test.ts'];
const EMAIL = ['test/alerts/email.test.ts'];
const WEBHOOK = ['test/alerts/webhook.test.ts'];
const UPSTREAM = ['test/relay/upstream.test.ts'];
const CONFIG = ['test/config/config.test.ts'];
const COUNTS = ['test/http/limits/minute-counts.test.ts'];
const INVITATIONS = ['test/db/people/invitations.test.ts'];

export const EDGES: readonly Mutant[] = [
  {
    name: 'edges/login-decided-twice',
    defect: 'a login of a command line that was decided is decided again',
    file: 'src/db/people/device-logins.ts',
    search: `WHERE user_code_sha256 = $1 AND approved IS NULL AND \${LIVE}\`,
    [digestKey(userCode), approved`,
    replacement: `WHERE user_code_sha256 = $1 AND \${LIVE}\`,
    [digestKey(userCode), approved`,
    tests: DEVICES,
  },
  {
    name: 'edges/login-decided-late',
    defect: 'a login of a command line is decided after its code has expired',
    file: 'src/db/people/device-logins.ts',
    search: `WHERE user_code_sha256 = $1 AND approved IS NULL AND \${LIVE}\`,
    [digestKey(userCode), approved`,
    replacement: `WHERE user_code_sha256 = $1 AND approved IS NULL\`,
    [digestKey(userCode), approved`,
    tests: DEVICES,
  },
  {
    name: 'edges/polls-of-a-network',
    defect: 'one login more than the limit waits in a network',
    file: 'src/db/people/device-logins.ts',
    search: 'ofNetwork >= WAITING_OF_NETWORK_MAX',
    replacement: 'ofNetwork > WAITING_OF_NETWORK_MAX',
    tests: DEVICES,
  },
  {
    name: 'edges/expired-session-writes',
    defect: 'a session that expired while its request was read still changes things',
    file: 'src/db/people/authority.ts',
    search: 'AND user_id = $2 AND ${OPEN}',
    replacement: 'AND user_id = $2 AND revoked_at IS NULL',
    tests: SESSIONS,
  },
  {
    name: 'edges/ended-sessions-count',
    defect: 'sessions that have ended take places of open ones',
    file: 'src/db/people/sessions.ts',
    search: 'WHERE user_id = $1 AND kind = $2 AND ${OPEN}',
    replacement: 'WHERE user_id = $1 AND kind = $2',
    tests: SESSIONS,
  },
  {
    name: 'edges/invitation-accepted-late',
    defect: 'an invitation is found after it has expired',
    file: 'src/db/people/invitations.ts',
    search: 'WHERE i.token_sha256 = $1 AND ${OPEN}',
    replacement: 'WHERE i.token_sha256 = $1 AND i.accepted_at IS NULL AND i.revoked_at IS NULL',
    tests: INVITATIONS,
  },
  {
    name: 'edges/old-secret-for-ever',
    defect: 'a replaced secret signs messages for ever',
    file: 'src/db/alerts/outbox.ts',
    search: 'CASE WHEN d.old_secret_until > now() THEN d.old_secret END',
    replacement: 'd.old_secret',
    tests: DESTINATIONS,
  },
  {
    name: 'edges/message-before-its-time',
    defect: 'a message is sent before its next attempt is due',
    file: 'src/db/alerts/outbox.ts',
    search: "'o.dead_at IS NULL AND o.due_at <= now()'",
    replacement: "'o.dead_at IS NULL'",
    tests: OUTBOX,
  },
  {
    name: 'edges/outbox-lease',
    defect: 'an attempt does not renew the lease of its destination',
    file: 'src/db/alerts/outbox.ts',
    search: 'UPDATE alert_destinations SET lease_until = now() + interval',
    replacement: 'UPDATE alert_destinations SET lease_until = lease_until + 0 * interval',
    tests: OUTBOX,
  },
  {
    name: 'edges/dead-given-up-again',
    defect: 'what is dead for long is given up again and kept',
    file: 'src/db/alerts/outbox-upkeep.ts',
    search: 'WHERE o.dead_at IS NULL AND o.queued_at <',
    replacement: 'WHERE o.queued_at <',
    tests: OUTBOX,
  },
  {
    name: 'edges/log-kept-from-the-start',
    defect: 'the log of messages keeps the oldest',
    file: 'src/db/alerts/deliveries.ts',
    search: 'ORDER BY id DESC OFFSET ${DELIVERIES_KEPT - 1} LIMIT 1',
    replacement: 'ORDER BY id OFFSET ${DELIVERIES_KEPT - 1} LIMIT 1',
    tests: DELIVERIES,
  },
  {
    name: 'edges/waiting-sent-again',
    defect: 'a message that waits is queued again',
    file: 'src/db/alerts/deliveries.ts',
    search: 'AND destination_id = $2 AND dead_at IS NOT NULL',
    replacement: 'AND destination_id = $2',
    tests: DELIVERIES,
  },
  {
    name: 'edges/oldest-exceptions-kept',
    defect: 'of ended exceptions the oldest are kept',
    file: 'src/db/findings/exception-writes.ts',
    search: 'ORDER BY id DESC OFFSET ${ENDED_KEPT}',
    replacement: 'ORDER BY id OFFSET ${ENDED_KEPT}',
    tests: EXCEPTIONS,
  },
  {
    name: 'edges/ended-exception-hides-later',
    defect: 'an exception that was ended counts later findings',
    file: 'src/db/findings/exceptions.ts',
    search: "least(coalesce(e.ended_at, 'infinity'), e.expires_at)",
    replacement: 'e.expires_at',
    tests: EXCEPTIONS,
  },
  {
    name: 'edges/preview-lease',
    defect: 'a preview that stores what it has counted does not renew its lease',
    file: 'src/db/previews/preview-queue.ts',
    search: 'const STILL_OWN = `lease_until = ${LEASE}`',
    replacement: "const STILL_OWN = 'lease_until = p.lease_until'",
    tests: PREVIEWS,
  },
  {
    name: 'edges/preview-start-inclusive',
    defect: 'a preview counts runs that arrived a moment before its days',
    file: 'src/db/previews/preview-queue.ts',
    search: "r.first_arrival_at > ${fromMicros('$2')}",
    replacement: "r.first_arrival_at >= ${fromMicros('$2')}",
    tests: PREVIEWS,
  },
  {
    name: 'edges/retention-margin',
    defect: 'a run goes a day before the last of its steps can',
    file: 'src/db/retention/retention.ts',
    search: 'Date.parse(oldest) - DAY_MS',
    replacement: 'Date.parse(oldest)',
    tests: RUNS,
  },
  {
    name: 'edges/retention-edge',
    defect: 'a run is deleted at the end of its days, not after',
    file: 'src/db/retention/outdated-runs.ts',
    search: '`r.last_arrival_at < $1',
    replacement: '`r.last_arrival_at <= $1',
    tests: RUNS,
  },
  {
    name: 'edges/password-in-clear',
    defect: 'an SMTP password is sent to another machine without TLS',
    file: 'src/alerts/email.ts',
    search: 'requireTLS: needsTls(new URL(url)),',
    replacement: '',
    tests: EMAIL,
  },
  {
    name: 'edges/gone-for-any-refusal',
    defect: 'a webhook that answers 404 or 408 is not tried again',
    file: 'src/alerts/webhook.ts',
    search: 'isGone: status === STATUS_GONE',
    replacement: 'isGone: status >= 400 && status < 500 && status !== 429',
    tests: WEBHOOK,
  },
  {
    name: 'edges/upstream-408',
    defect: 'a relay does not send again what the server answered 408',
    file: 'src/relay/upstream.ts',
    search: '[408, 429]',
    replacement: '[429]',
    tests: UPSTREAM,
  },
  {
    name: 'edges/upstream-501',
    defect: 'a relay does not send again what the server answered 500 or 501',
    file: 'src/relay/upstream.ts',
    search: 'status >= 500 ||',
    replacement: 'status >= 502 ||',
    tests: UPSTREAM,
  },
  {
    name: 'edges/upstream-422',
    defect: 'a relay takes 422 for a wrong key',
    file: 'src/relay/upstream.ts',
    search: '[400, 413, 415, 422]',
    replacement: '[400, 413, 415]',
    tests: UPSTREAM,
  },
  {
    name: 'edges/direct-url-alone',
    defect: 'DATABASE_DIRECT_URL without DATABASE_URL is taken',
    file: 'src/config/config.ts',
    search: 'config.databaseDirectUrl !== null && config.databaseUrl === null',
    replacement: 'false',
    tests: CONFIG,
  },
  {
    name: 'edges/polls-by-household',
    defect: 'polls are counted by a /48 of IPv6',
    file: 'src/http/limits/poll-limiter.ts',
    search: 'networkOf(address, 4, 4)',
    replacement: 'networkOf(address, 4, 3)',
    tests: ['test/http/limits/poll-limiter.test.ts'],
  },
  {
    name: 'edges/look-ups-for-ever',
    defect: 'look-ups of unknown keys that began in an earlier second count',
    file: 'src/http/limits/network-shares.ts',
    search: 'nowMs >= network.secondEndsAtMs',
    replacement: 'nowMs > network.secondEndsAtMs',
    tests: ['test/http/limits/network-shares.test.ts'],
  },
  {
    name: 'edges/half-of-a-limit',
    defect: 'requests are admitted before they are counted up to the whole limit',
    file: 'src/http/limits/minute-counts.ts',
    search: '2 * (count + uncounted) < limit',
    replacement: 'count + uncounted < limit',
    tests: COUNTS,
  },
  {
    name: 'edges/half-inclusive',
    defect: 'the request at half of a limit does not wait for its count',
    file: 'src/http/limits/minute-counts.ts',
    search: '2 * (count + uncounted) < limit',
    replacement: '2 * (count + uncounted) <= limit',
    tests: COUNTS,
  },
];
