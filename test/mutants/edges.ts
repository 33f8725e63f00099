// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are texts of sources
/** Planted defects of conditions with a time or a count, and of guards that nothing had triggered. */
import type { Mutant } from './mutant.ts';

const DEVICES = ['test/db/people/device-logins.test.ts'];
const SESSIONS = ['test/db/people/sessions.test.ts'];
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
];
