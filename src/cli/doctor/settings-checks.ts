/** Checks of settings: wrong ones, and those that work but contradict each other. */
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../local-host.ts';
import { type Check, checksOf } from './check.ts';

const { ok, warning, problem } = checksOf('settings');

export function invalidSettings(problems: readonly string[]): Check[] {
  return problems.map((line) => {
    const [name = 'Setting'] = line.split(' ');
    return problem(name, line, 'Correct it: the server does not start (docs/configuration.md).');
  });
}

export function settingChecks(config: Config): Check[] {
  const found: Check[] = config.warnings.map((line) =>
    warning(
      line.split(' ')[0] ?? 'Setting',
      line,
      line.startsWith('OAUTH_')
        ? 'Set it, or remove the other settings of the provider.'
        : 'Remove it.',
    ),
  );
  const base = new URL(config.baseUrl);
  const isLocal = isLoopback(base.hostname);
  if (base.protocol === 'https:' && config.trustedProxyHops === 0) {
    found.push(
      warning(
        'TRUSTED_PROXY_HOPS',
        '0, but BASE_URL is https://, so a proxy ends TLS: its address is taken for every client',
        'Set TRUSTED_PROXY_HOPS=1 (one more for each further proxy that adds X-Forwarded-For).',
      ),
    );
  }
  if (base.protocol === 'http:' && !isLocal) {
    found.push(
      warning(
        'BASE_URL',
        `${base.origin} has no TLS: passwords and keys are sent in clear`,
        'Run the server behind a proxy with TLS and set BASE_URL to https:// (docs/reverse-proxy.md).',
      ),
    );
  }
  if (isLocal && config.databaseUrl !== null && config.redisUrl !== null) {
    found.push(
      warning(
        'BASE_URL',
        `${base.origin} is this machine, but the database and Redis are shared: links in alerts lead there`,
        'Set BASE_URL to the address that people use.',
      ),
    );
  }
  if (!isLoopback(config.adminHost)) {
    found.push(
      warning(
        'ADMIN_HOST',
        `${config.adminHost}: /metrics is reachable from other machines without a credential`,
        'Let only Prometheus reach the port (firewall, NetworkPolicy), or use 127.0.0.1.',
      ),
    );
  }
  if (config.retentionDays === 0) {
    found.push(
      warning(
        'RETENTION_DAYS',
        '0: telemetry is never deleted, and the disk fills up',
        'Set the number of days that you need.',
      ),
    );
  }
  return found.length > 0 ? found : [ok('All settings', 'valid, and none contradicts another')];
}
