/**
 * The files of `deploy/` name metrics, settings and runbooks that exist; the alerts fire (promtool,
 * where it is installed).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import type { MetricObject } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { createObserver } from '../../src/observe/events.ts';
import { canRunPromtool, mustRunAll } from '../support/programs.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string; readonly summary: string };
}
interface AlertTest {
  readonly name: string;
  readonly alert_rule_test: readonly { readonly exp_alerts: readonly unknown[] }[];
}

const alerts = (
  load(read('deploy/prometheus/alerts.yaml')) as {
    readonly groups: readonly [{ readonly rules: readonly Alert[] }];
  }
).groups[0].rules;
const operations = read('docs/operations.md');
/** What the library keeps of a metric and does not declare in its types. */
type Declared = MetricObject & { readonly labelNames: readonly string[] };
const metrics = createObserver(
  'silent',
).registry.getMetricsAsArray() as unknown as readonly Declared[];
/** As Prometheus names the series: a histogram has three. */
const series = new Set(
  metrics.flatMap(({ name, type }) =>
    String(type) === 'histogram'
      ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]
      : [name],
  ),
);
const settings: readonly string[] = Object.keys(SETTINGS);

const namedMetrics = (text: string): string[] => [
  ...new Set([...text.matchAll(/\bsluice_[a-z_]+\b/g)].map(([name]) => name)),
];

describe('metrics', () => {
  test.each([
    'deploy/prometheus/alerts.yaml',
    'deploy/prometheus/alerts.test.yaml',
    'deploy/grafana/sluice.json',
    'deploy/helm/sluice/values.yaml',
  ])('%s names metrics that exist', (path) => {
    const named = namedMetrics(read(path));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !series.has(name))).toEqual([]);
  });

  test('docs/operations.md has them all, with their labels and the descriptions of the code', () => {
    const rows = metrics.map(
      ({ name, help, labelNames }) =>
        `| \`${name}\` | ${labelNames.join(', ') || '–'} | ${help.replace(/\.$/, '')} |`,
    );
    const table = [...operations.matchAll(/^\| `sluice_.*$/gm)].map(([row]) => row);
    expect(table).toEqual(rows);
  });
});

describe('alerts', () => {
  test('each has a runbook in docs/operations.md', () => {
    const headings = [...operations.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect(annotations.summary).not.toBe('');
    }
  });

  test('each has a test in which it is silent first and then fires', () => {
    const { tests } = load(read('deploy/prometheus/alerts.test.yaml')) as {
      readonly tests: readonly AlertTest[];
    };
    const expected = alerts.map(({ alert }) => [alert, [0, 1]]);
    expect(
      tests.map(({ name, alert_rule_test: steps }) => [
        name,
        steps.map(({ exp_alerts: fired }) => fired.length),
      ]),
    ).toEqual(expected);
  });

  test.skipIf(!canRunPromtool && !mustRunAll)('fire, according to promtool', () => {
    const { status, stdout, stderr } = spawnSync(
      'promtool',
      ['test', 'rules', 'deploy/prometheus/alerts.test.yaml'],
      { cwd: ROOT, encoding: 'utf8' },
    );
    expect(`${stdout}${stderr}`).toContain('SUCCESS');
    expect(status).toBe(0);
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly targets?: readonly { readonly expr: string }[];
    readonly gridPos: {
      readonly x: number;
      readonly y: number;
      readonly w: number;
      readonly h: number;
    };
  }
  const { panels } = JSON.parse(read('deploy/grafana/sluice.json')) as {
    readonly panels: readonly Panel[];
  };

  test('no panel covers another one', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  test.skipIf(!canRunPromtool && !mustRunAll)(
    'its queries are valid, according to promtool',
    () => {
      const rules = panels
        .flatMap(({ targets = [] }) => targets)
        .map(({ expr }, at) => ({
          record: `panel:${at}`,
          expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
        }));
      expect(rules.length).toBeGreaterThan(20);
      const folder = mkdtempSync(join(tmpdir(), 'sluice-dashboard-'));
      try {
        const file = join(folder, 'rules.yaml');
        // JSON is YAML too.
        writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
        const { stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], {
          encoding: 'utf8',
        });
        expect(`${stdout}${stderr}`).toContain(`SUCCESS: ${rules.length} rules found`);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
});

describe('compose', () => {
  interface Service {
    readonly restart?: string;
    readonly mem_limit?: string;
    readonly security_opt?: readonly string[];
    readonly logging?: { readonly options?: { readonly 'max-size'?: string } };
    readonly healthcheck?: object;
    readonly ports?: readonly string[];
    readonly volumes?: readonly string[];
  }
  const text = read('deploy/compose/compose.yaml');
  const { services } = load(text) as { readonly services: Readonly<Record<string, Service>> };

  test.each(Object.entries(services))('%s is started again, and bounded', (_name, service) => {
    expect(service).toMatchObject({
      restart: 'unless-stopped',
      mem_limit: expect.stringMatching(/\d[mg]\}?$/),
      security_opt: ['no-new-privileges:true'],
      logging: { options: { 'max-size': '10m' } },
    });
  });

  test('every container has a health check where its image has what it takes', () => {
    const without = Object.entries(services).filter(([, { healthcheck }]) => !healthcheck);
    // Sluice's is in the Dockerfile; the Collector's image has no program but the Collector.
    expect(without.map(([name]) => name)).toEqual(['sluice-1', 'sluice-2', 'collector']);
    expect(read('Dockerfile')).toContain('HEALTHCHECK');
  });

  test('the network reaches HAProxy, and nothing else', () => {
    const published = Object.entries(services).filter(([, { ports = [] }]) =>
      ports.some((port) => !port.startsWith('127.0.0.1:')),
    );
    expect(published.map(([name]) => name)).toEqual(['haproxy']);
  });

  test('env.example has every variable with its default, and no password', () => {
    const used = new Map(
      [...text.matchAll(/\$\{([A-Z_]+)(?::-([^}]*)|:\?[^}]*)?\}/g)].map(
        ([, name = '', fallback = '']) => [name, fallback] as const,
      ),
    );
    const optional = ['SLUICE_TAG', 'BASE_PORT', 'OBSERVE_PORT', 'GRAFANA_PORT'];
    const expected = [...used].filter(([name]) => !optional.includes(name)).toSorted();
    const example = [...read('deploy/compose/env.example').matchAll(/^([A-Z_]+)=(.*)$/gm)];
    expect(example.map(([, name, value]) => [name, value]).toSorted()).toEqual(expected);
  });

  test('every file that is mounted is there', () => {
    const files = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.filter((volume) => volume.startsWith('.')),
    );
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) {
      const path = new URL(`deploy/compose/${file.split(':')[0]}`, ROOT);
      expect(existsSync(path), file).toBe(true);
    }
  });
});

describe('settings', () => {
  const settingNames = (text: string, pattern: RegExp): string[] =>
    [...text.matchAll(pattern)].map(([, name = '']) => name);

  test('compose, chart, image and unit set what exists', () => {
    const compose = load(read('deploy/compose/compose.yaml')) as {
      readonly services: Readonly<Record<string, { readonly environment: Record<string, string> }>>;
    };
    const chart = readdirSync(new URL('deploy/helm/sluice/templates/', ROOT))
      .map((name) => read(`deploy/helm/sluice/templates/${name}`))
      .join('\n');
    const named = [
      ...Object.keys(compose.services['sluice-1']?.environment ?? {}),
      ...settingNames(chart, /name: ([A-Z][A-Z_]+), value:/g),
      ...settingNames(chart, /^ +([A-Z][A-Z_]+): \{\{/gm),
      ...settingNames(read('Dockerfile'), /^(?:ENV| {4}) ?([A-Z][A-Z_]+)=/gm),
    ].filter((name) => name !== 'NODE_ENV');
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !settings.includes(name))).toEqual([]);
  });

  test('ports are the defaults', () => {
    const { port, observePort, adminPort } = readConfig({});
    const chart = read('deploy/helm/sluice/templates/deployment.yaml');
    expect(settingNames(chart, /containerPort: (\d+)/g)).toEqual(
      [port, observePort, adminPort].map(String),
    );
    const haproxy = read('deploy/compose/haproxy.cfg');
    expect(settingNames(haproxy, /server sluice-1 sluice-1:(\d+)/g)).toEqual(
      [port, observePort].map(String),
    );
    expect(read('deploy/compose/prometheus.yaml')).toContain(`sluice-1:${adminPort}`);
    expect(read('Dockerfile')).toContain(`EXPOSE ${port} ${observePort}`);
  });
});

test('the image is made of every file that the package has, without deploy/', () => {
  const { files } = JSON.parse(read('package.json')) as { readonly files: readonly string[] };
  const copied = read('.dockerignore').split('\n');
  // dist/ is built inside; npm adds the others by itself.
  const own = files.filter((name) => name !== 'dist' && name !== 'deploy');
  const needed = [...own, 'README.md', 'LICENSE', 'bin', 'src'];
  for (const name of needed) expect(copied, name).toContain(`!${name}`);
});
