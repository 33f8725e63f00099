/**
 * What the chart of deploy/ makes of its values: every object as a whole, with the ports, routes and
 * settings of the program, so that a changed line of a template fails here.
 */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { type Manifest, renderChart } from './helm-chart.ts';

const { port, observePort, adminPort } = readConfig({});
const PORTS = { base: port, observe: observePort, admin: adminPort };
const SECRET = { existingSecret: 'settings' };
const SELECTOR = { 'app.kubernetes.io/name': 'sluice', 'app.kubernetes.io/instance': 'release' };

function objectsOf(kind: string, values: Readonly<Record<string, unknown>> = {}): Manifest[] {
  return renderChart({ ...SECRET, ...values }).filter((manifest) => manifest.kind === kind);
}

function specOf(kind: string, values: Readonly<Record<string, unknown>> = {}) {
  const [manifest, ...others] = objectsOf(kind, values);
  expect(others).toEqual([]);
  return manifest?.spec;
}

test('without a switch: a Deployment, its services and what protects them', () => {
  const kinds = renderChart(SECRET).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual([
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'Service',
    'ServiceAccount',
  ]);
});

test('every object has the labels that the selectors need', () => {
  const all = renderChart({
    databaseUrl: 'x',
    autoscaling: { enabled: true },
    ingress: { enabled: true },
    metrics: { serviceMonitor: true },
  });
  expect(all.length).toBe(11);
  for (const { metadata } of all) expect(metadata.labels).toMatchObject(SELECTOR);
});

describe('the Deployment', () => {
  const pod = () => specOf('Deployment').template.spec;
  const container = () => pod().containers[0];

  test('replaces one pod after another, and never has fewer than its number', () => {
    expect(specOf('Deployment')).toMatchObject({
      replicas: 2,
      selector: { matchLabels: SELECTOR },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    expect(specOf('Deployment').template.metadata.labels).toMatchObject(SELECTOR);
  });

  test('runs as nobody special, without a token, on a file system it cannot change', () => {
    const { containers, volumes, topologySpreadConstraints, ...rest } = pod();
    expect(containers.length).toBe(1);
    expect(rest).toEqual({
      serviceAccountName: 'release',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 150,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(container().securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(topologySpreadConstraints).toEqual([
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: SELECTOR },
      },
    ]);
    expect(volumes).toEqual([
      { name: 'data', emptyDir: { sizeLimit: '256Mi' } },
      { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
    ]);
    expect(container().volumeMounts).toEqual([
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
    ]);
  });

  test('a hung process is restarted, one without its database only gets no requests', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container();
    const health = { path: '/health', port: 'admin' };
    expect(startupProbe).toEqual({ httpGet: health, periodSeconds: 2, failureThreshold: 90 });
    expect(livenessProbe).toEqual({
      httpGet: health,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 3,
    });
    expect(readinessProbe).toEqual({
      httpGet: { path: '/ready', port: 'admin' },
      periodSeconds: 5,
      timeoutSeconds: 5,
      failureThreshold: 2,
    });
    const routes = routesOf('ADMIN_PORT').map(nameOf);
    expect(routes).toEqual(expect.arrayContaining(['GET /health', 'GET /ready', 'GET /metrics']));
  });

  test('opens the ports that the program listens on', () => {
    const expected = Object.entries(PORTS).map(([name, containerPort]) => ({
      name,
      containerPort,
    }));
    expect(container().ports).toEqual(expected);
  });

  test('is handed its settings, which exist, and its secret', () => {
    const settled = specOf('Deployment', { settings: { RETENTION_DAYS: 90 } });
    const { env, envFrom } = settled.template.spec.containers[0];
    expect(env).toEqual([
      { name: 'BASE_URL', value: 'https://sluice.example.com' },
      { name: 'OBSERVE_URL', value: 'https://otel.example.com' },
      { name: 'TRUSTED_PROXY_HOPS', value: '1' },
      { name: 'DRAIN_MS', value: '10000' },
      { name: 'ADMIN_HOST', value: '0.0.0.0' },
      { name: 'RETENTION_DAYS', value: '90' },
    ]);
    for (const { name } of env) expect(SETTINGS).toHaveProperty(name);
    const values = Object.fromEntries(
      env.map((one: Record<string, string>) => [one.name, one.value]),
    );
    expect(readConfig(values).warnings).toEqual([]);
    expect(envFrom).toEqual([{ secretRef: { name: 'settings' } }]);
  });

  test('stops within its grace period: draining, requests, evaluations', () => {
    const { terminationGracePeriodSeconds } = pod();
    const { drainMs } = readConfig({ DRAIN_MS: '10000' });
    expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainMs / 1000 + 120);
  });

  test('has memory and no limit of CPU', () => {
    expect(container().resources).toEqual({
      requests: { cpu: '1', memory: '1Gi' },
      limits: { memory: '2Gi' },
    });
    expect(container()).toMatchObject({ image: 'sluice:0.1.0', imagePullPolicy: 'IfNotPresent' });
  });

  test('another password starts the pods again', () => {
    const annotations = (databaseUrl: string) =>
      objectsOf('Deployment', { existingSecret: '', databaseUrl })[0]?.spec.template.metadata
        .annotations['checksum/secret'];
    expect(annotations('postgres://a')).toMatch(/^[0-9a-f]{64}$/);
    expect(annotations('postgres://a')).toBe(annotations('postgres://a'));
    expect(annotations('postgres://a')).not.toBe(annotations('postgres://b'));
  });

  test('leaves the number of pods to the autoscaler where there is one', () => {
    const on = { autoscaling: { enabled: true, waitingRunsPerPod: 7 } };
    expect(specOf('Deployment', on)).not.toHaveProperty('replicas');
    expect(specOf('HorizontalPodAutoscaler', on)).toEqual({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'release' },
      minReplicas: 2,
      maxReplicas: 8,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
        },
        {
          type: 'External',
          external: {
            metric: { name: 'sluice_pass_waiting_runs' },
            target: { type: 'AverageValue', averageValue: '7' },
          },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
    });
    const plain = { autoscaling: { enabled: true } };
    expect(specOf('HorizontalPodAutoscaler', plain).metrics.length).toBe(1);
  });
});

describe('the services', () => {
  test('each leads to its own port of the pods', () => {
    const services = objectsOf('Service').map(({ metadata, spec }) => [metadata.name, spec]);
    const expected = Object.entries(PORTS).map(([name, number]) => [
      `release-${name}`,
      {
        ...(name === 'admin' ? { clusterIP: 'None' } : {}),
        selector: SELECTOR,
        ports: [{ name, port: number, targetPort: name, protocol: 'TCP' }],
      },
    ]);
    expect(services.toSorted()).toEqual(expected.toSorted());
  });

  test('the Ingress leads to base and observe, by their hosts, and never to admin', () => {
    const paths = (service: string) => ({
      paths: [
        {
          path: '/',
          pathType: 'Prefix',
          backend: { service: { name: `release-${service}`, port: { name: service } } },
        },
      ],
    });
    expect(
      specOf('Ingress', { ingress: { enabled: true, className: 'nginx', tlsSecret: 'tls' } }),
    ).toEqual({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['otel.example.com', 'sluice.example.com'], secretName: 'tls' }],
      rules: [
        { host: 'sluice.example.com', http: paths('base') },
        { host: 'otel.example.com', http: paths('observe') },
      ],
    });
  });

  test('Prometheus is sent to /metrics of the admin port', () => {
    expect(specOf('ServiceMonitor', { metrics: { serviceMonitor: true } })).toEqual({
      selector: { matchLabels: { ...SELECTOR, 'app.kubernetes.io/component': 'admin' } },
      endpoints: [{ port: 'admin', path: '/metrics', interval: '15s' }],
    });
    const [admin] = objectsOf('Service').filter(
      ({ metadata }) => metadata.name === 'release-admin',
    );
    expect(admin?.metadata.labels['app.kubernetes.io/component']).toBe('admin');
  });
});

describe('the network policy', () => {
  const PUBLIC = [
    { port: 'base', protocol: 'TCP' },
    { port: 'observe', protocol: 'TCP' },
  ];

  test('opens base and observe; nobody reaches admin', () => {
    expect(specOf('NetworkPolicy')).toEqual({
      podSelector: { matchLabels: SELECTOR },
      policyTypes: ['Ingress'],
      ingress: [{ ports: PUBLIC }],
    });
  });

  test('opens admin to those who are named, and to nobody else', () => {
    const [proxy, prometheus] = [{ podSelector: { a: 'b' } }, { podSelector: { c: 'd' } }];
    const networkPolicy = { ingressFrom: [proxy], metricsFrom: [prometheus] };
    expect(specOf('NetworkPolicy', { networkPolicy }).ingress).toEqual([
      { ports: PUBLIC, from: [proxy] },
      { ports: [{ port: 'admin', protocol: 'TCP' }], from: [prometheus] },
    ]);
  });

  test('lets Sluice connect to what is named, and ask for names', () => {
    const database = { ipBlock: { cidr: '10.0.0.0/8' } };
    const spec = specOf('NetworkPolicy', { networkPolicy: { egressTo: [database] } });
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.egress).toEqual([
      {
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      { to: [database] },
    ]);
  });
});

test('a node that is emptied takes one pod at a time', () => {
  expect(specOf('PodDisruptionBudget')).toEqual({
    maxUnavailable: 1,
    selector: { matchLabels: SELECTOR },
  });
});

test('the account has no token', () => {
  expect(objectsOf('ServiceAccount')[0]).toMatchObject({
    metadata: { name: 'release' },
    automountServiceAccountToken: false,
  });
});

test('the secret has the addresses given, and is required', () => {
  const values = { existingSecret: '', databaseUrl: 'a', databaseReadUrl: 'b', redisUrl: 'c' };
  const [secret] = objectsOf('Secret', values);
  expect(secret).toMatchObject({ metadata: { name: 'release' }, type: 'Opaque' });
  expect(secret?.stringData).toEqual({ DATABASE_URL: 'a', DATABASE_READ_URL: 'b', REDIS_URL: 'c' });
  const container = objectsOf('Deployment', values)[0]?.spec.template.spec.containers[0];
  expect(container.envFrom).toEqual([{ secretRef: { name: 'release' } }]);
  expect(() => renderChart({})).toThrow('set existingSecret, or databaseUrl');
});

test('the notes name commands that exist', () => {
  const notes = readFileSync(
    new URL('../../deploy/helm/sluice/templates/NOTES.txt', import.meta.url),
    'utf8',
  );
  expect(notes).toContain('bin/sluice.js key create --kind agent');
});

describe('values.schema.json', () => {
  interface Schema {
    readonly type?: string;
    readonly additionalProperties?: unknown;
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly pattern?: string;
  }
  const chart = new URL('../../deploy/helm/sluice/', import.meta.url);
  const read = (name: string) => readFileSync(new URL(name, chart), 'utf8');
  const schema = JSON.parse(read('values.schema.json')) as Schema;
  const own = (name: string): Schema => schema.properties?.[name] ?? {};

  test('knows every value, and refuses others', () => {
    const values = load(read('values.yaml')) as Readonly<Record<string, unknown>>;
    const names = Object.keys(schema.properties ?? {});
    // Helm itself hands `global` to every chart.
    expect(names.toSorted()).toEqual(['global', ...Object.keys(values)].toSorted());
    expect(schema.additionalProperties).toBe(false);
    for (const [name, value] of Object.entries(values)) {
      const { properties, additionalProperties } = own(name);
      if (properties === undefined) continue;
      expect(Object.keys(properties).toSorted(), name).toEqual(
        Object.keys(value as object).toSorted(),
      );
      expect(additionalProperties, name).toBe(false);
    }
  });

  test('refuses numbers and addresses that no release can run with', () => {
    expect(own('replicas')).toEqual({ type: 'integer', minimum: 1 });
    expect(own('trustedProxyHops')).toEqual({ type: 'integer', minimum: 0, maximum: 10 });
    expect(own('drainSeconds')).toEqual({ type: 'integer', minimum: 0 });
    expect(own('terminationGracePeriodSeconds')).toEqual({ type: 'integer', minimum: 30 });
    expect(own('autoscaling').properties).toMatchObject({
      minReplicas: { minimum: 1 },
      maxReplicas: { minimum: 1 },
      cpuUtilization: { minimum: 1 },
      waitingRunsPerPod: { minimum: 0 },
    });
    const accepts = (name: string, value: string) =>
      new RegExp(own(name).pattern ?? '$^').test(value);
    for (const name of ['baseUrl', 'observeUrl']) {
      expect(accepts(name, 'https://a.example.com')).toBe(true);
      expect(accepts(name, 'a.example.com')).toBe(false);
      expect(accepts(name, 'https://a.example.com/path')).toBe(false);
    }
    for (const name of ['databaseUrl', 'databaseReadUrl']) {
      for (const url of ['', 'postgres://a/b', 'postgresql://a/b']) {
        expect(accepts(name, url)).toBe(true);
      }
      expect(accepts(name, 'mysql://a/b')).toBe(false);
    }
    for (const url of [
      '',
      'redis://a',
      'rediss://a',
      'redis+sentinel://a',
      'rediss+sentinel://a',
    ]) {
      expect(accepts('redisUrl', url)).toBe(true);
    }
    expect(accepts('redisUrl', 'http://a')).toBe(false);
  });
});
