/** deploy/compose/haproxy.cfg as it is shipped, for the addresses of a test. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/server.ts';

interface Ports {
  readonly base: number;
  readonly observe: number;
}

/**
 * The file, with addresses on 127.0.0.1 in place of those that compose's name server knows, without
 * its log and the health check of its container.
 *
 * @param own ports that HAProxy listens on
 * @param servers ports of the processes behind it
 */
export function shippedHaproxy(own: Ports, servers: readonly Ports[]): string {
  const lines = (which: keyof Ports) =>
    servers.map((ports, at) => `  server sluice-${at + 1} 127.0.0.1:${ports[which]}`).join('\n');
  return readFileSync(join(ROOT, 'deploy/compose/haproxy.cfg'), 'utf8')
    .replace(/resolvers compose\n( {2}.*\n)+/, '')
    .replace(/frontend health\n( {2}.*\n)+/, '')
    .replace(' resolvers compose init-addr last,libc,none', '')
    .replace('log stdout format raw local0 warning', '')
    .replace('bind :8080', `bind 127.0.0.1:${own.base}`)
    .replace('bind :4318', `bind 127.0.0.1:${own.observe}`)
    .replace(/( {2}server sluice-\d \S+:8080\n)+/, `${lines('base')}\n`)
    .replace(/( {2}server sluice-\d \S+:4318\n)+/, `${lines('observe')}\n`);
}
