/** How often the command lines of one network may ask. */
import { expect, test } from 'vitest';
import { createPollLimiter } from '../../../src/http/limits/limiters.ts';
import { createMinuteCounts } from '../../../src/http/limits/minute-counts.ts';

const events = { limiterUnavailable() {}, limiterAnswered() {}, countedHere() {} };

test.each([
  ['an address of IPv4', '203.0.113.1', '203.0.113.1', '203.0.113.2'],
  ['a /64 of IPv6', '2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1'],
])('%s polls six hundred times a minute, whatever others do', async (_what, one, same, other) => {
  const { admit } = createPollLimiter(createMinuteCounts(null, events));
  for (let poll = 0; poll < 600; poll += 1) await admit(poll % 2 === 0 ? one : same);
  for (const address of [one, same]) {
    await expect(admit(address)).rejects.toMatchObject({
      code: 'too_many_attempts',
      retryAfterSeconds: expect.any(Number),
    });
  }
  await admit(other);
});
