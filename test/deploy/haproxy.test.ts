/**
 * deploy/compose/haproxy.cfg, line by line: what each section says, with the ports and probes of the
 * program. HAProxy itself reads it where it is installed.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { haproxyPath, mustRunAll } from '../support/programs.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { shippedHaproxy } from './shipped-haproxy.ts';

const FILE = new URL('../../deploy/compose/haproxy.cfg', import.meta.url);
const { port, observePort } = readConfig({});
/** uWebSockets.js closes a connection that has been idle for so long. */
const SERVER_IDLE_SECONDS = 10;

/** Section → its lines, without comments. */
function sections(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of readFileSync(FILE, 'utf8').split('\n')) {
    if (line === '' || line.trim().startsWith('#')) continue;
    if (line.startsWith(' ')) lines.push(line.trim());
    else {
      lines = [];
      found.set(line, lines);
    }
  }
  return found;
}

describe('haproxy.cfg', () => {
  const READY = [
    'balance leastconn',
    'option httpchk',
    'http-check send meth GET uri /ready ver HTTP/1.1 hdr Host sluice',
  ];
  const servers = (number: number) =>
    [1, 2].map((nth) => `server sluice-${nth} sluice-${nth}:${number}`);

  test('base and observe lead to their own ports, of servers that are ready', () => {
    const all = sections();
    expect(all.get('frontend base')).toEqual([`bind :${port}`, 'default_backend base']);
    expect(all.get('backend base')).toEqual([...READY, ...servers(port)]);
    expect(all.get('frontend observe')).toEqual([
      `bind :${observePort}`,
      'default_backend observe',
    ]);
    expect(all.get('backend observe')).toEqual([...READY, ...servers(observePort)]);
    for (const name of ['PORT', 'OBSERVE_PORT']) {
      expect(routesOf(name).map(nameOf)).toContain('GET /ready');
    }
  });

  test('its own health is served inside the container only, and is that of base', () => {
    expect(sections().get('frontend health')).toEqual([
      'bind 127.0.0.1:8404',
      'monitor-uri /health',
      'monitor fail if { nbsrv(base) lt 1 }',
    ]);
  });

  test('a slow sender of a head is cut off, and only what was never sent is sent again', () => {
    expect(sections().get('defaults')).toEqual([
      'mode http',
      'option httplog',
      'log stdout format raw local0 warning',
      'option forwardfor',
      'option redispatch',
      'retries 3',
      'retry-on conn-failure',
      'option http-keep-alive',
      'http-reuse safe',
      'timeout connect 2s',
      'timeout http-request 10s',
      'timeout client 60s',
      'timeout server 60s',
      'timeout http-keep-alive 30s',
      'default-server pool-purge-delay 4s check inter 500 fall 2 rise 1 resolvers compose init-addr last,libc,none',
    ]);
  });

  test('connections to a server are given up before the server closes them', () => {
    const lines = sections().get('defaults')?.join('\n') ?? '';
    const purge = Number(/pool-purge-delay (\d+)s/.exec(lines)?.[1]);
    // Idle ones are purged in two rounds at most.
    expect(2 * purge).toBeLessThan(SERVER_IDLE_SECONDS);
  });

  test('nothing else is configured', () => {
    expect([...sections().keys()]).toEqual([
      'global',
      'resolvers compose',
      'defaults',
      'frontend health',
      'frontend base',
      'frontend observe',
      'backend base',
      'backend observe',
    ]);
    expect(sections().get('global')).toEqual(['maxconn 4096']);
    expect(sections().get('resolvers compose')).toEqual([
      'parse-resolv-conf',
      'timeout resolve 500ms',
      'hold valid 500ms',
    ]);
  });

  test.skipIf(haproxyPath === null && !mustRunAll)('HAProxy accepts it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-haproxy-'));
    try {
      const file = join(folder, 'haproxy.cfg');
      const ports = { base: 20_001, observe: 20_002 };
      writeFileSync(file, shippedHaproxy(ports, [ports]));
      const { status, stderr } = spawnSync(haproxyPath ?? 'haproxy', ['-c', '-f', file], {
        encoding: 'utf8',
      });
      expect(status, stderr).toBe(0);
      // The test's copy has no log.
      const warnings = stderr.split('\n').filter((line) => line.includes('WARNING'));
      expect(warnings.filter((line) => !line.includes('log format ignored'))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
