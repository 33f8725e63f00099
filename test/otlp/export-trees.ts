/**
 * Random export requests as trees: every field that spans, log records and points have, mostly with values
 * that are valid, now and then with such as are not.
 */
import { type Member, pick, seeded, type Tree } from './json-writer.ts';

/** Numbers from 0 up to 1, and the share of values that are not valid or not usual. */
export type Random = (() => number) & { readonly faults: number };

/** The same numbers for the same seed. */
export function dice(seed: number, faults: number): Random {
  return Object.assign(seeded(seed), { faults });
}

const literal = (text: string): Tree => ({ literal: text });
const object = (...members: Member[]): Tree => ({ members });

const TEXTS = [
  '',
  'a',
  'ab',
  'abc',
  'gen_ai.input.messages',
  'service.name',
  '$bytes',
  '$',
  'k"ey\\',
  'line\nbreak\ttab',
  'ctrl\u0001\u001b',
  'slash/',
  'zażółć',
  '日本語のテキスト',
  'emoji 😀 and more 👩‍👩‍👧',
  '\u007f\u2028\u2029\ufeff\ufffd',
  '{"role":"user","content":"a \\"quoted\\" text\\n"}',
  'x'.repeat(200),
];

const TIMES = [
  '0',
  '1',
  '999999999',
  '1000000000',
  '4294967296',
  '1795000000123456789',
  '9223372036854775807',
];
const BAD_TIMES = ['9223372036854775808', '-1', '01', '1e9', '1.0', '-0', '', ' 1', '00'];
const LONG_INTS = [
  '9007199254740993',
  '1795000000123456789',
  '123456789012345',
  '1234567890123456',
];
const INTS = ['0', '1', '-1', '42', '-9007199254740991', '923372036854775807'];
const ODD_INTS = ['-0', '007', '9223372036854775807', '-9223372036854775808', '-00'];
const BAD_INTS = [
  ...[
    '9223372036854775808',
    '1.5',
    'x',
    '',
    '+1',
    '1e3',
    '1.0',
    '10E+2',
    '-5.0e1',
    '100e-2',
    '1e-1',
  ],
  ...['9.223372036854775807e18', '0.9223372036854775808E19', '1e400', '0e400'],
];
const DOUBLES = ['0', '-0', '0.5', '0.7', '1e21', '1E-7', '5', '5.0', '1.7976931348623157e308'];
const ODD_DOUBLES = ['1e999', '123456789012345678901234567890', '0.1000', '1e3'];
const UINTS = ['0', '1', '257', '4294967295'];
const BAD_UINTS = ['4294967296', '-1', '1.5', '1e2', '2.0', '-0', '1e-2', '32767', '32768'];

const digits = (random: Random, count: number): string =>
  Array.from({ length: count }, () => pick(random, [...'0123456789abcdef'])).join('');

const mostly = (random: Random, good: () => Tree, bad: () => Tree): Tree =>
  random() >= random.faults ? good() : bad();

const text = (random: Random): Tree =>
  mostly(
    random,
    () => pick(random, TEXTS),
    () => pick<Tree>(random, [null, literal('5'), true, { list: [] }, object()]),
  );

function time(random: Random): Tree {
  return mostly(
    random,
    () =>
      pick<Tree>(random, [pick(random, TIMES), literal(pick(random, ['0', '123456789012345']))]),
    () => {
      const odd = pick(random, BAD_TIMES);
      return pick<Tree>(random, [
        odd,
        null,
        literal(pick(random, LONG_INTS)),
        literal('1e9'),
        true,
      ]);
    },
  );
}

function uint(random: Random, max: number): Tree {
  return mostly(
    random,
    () => literal(String(Math.floor(random() * (max + 1)))),
    () => {
      const odd = pick(random, BAD_UINTS);
      return pick<Tree>(random, [null, '1', odd, literal(odd), true, 'x']);
    },
  );
}

const uint32 = (random: Random): Tree =>
  mostly(
    random,
    () => literal(pick(random, UINTS)),
    () => uint(random, 6),
  );

const id = (random: Random, width: number): Tree =>
  mostly(
    random,
    () => digits(random, width),
    () =>
      pick<Tree>(random, [
        digits(random, width).toUpperCase(),
        '0'.repeat(width),
        digits(random, width - 1),
        digits(random, width + 2),
        `${digits(random, width - 1)}g`,
        `${digits(random, width - 2)}\u00e9`,
        '',
        null,
        literal('5'),
      ]),
  );

/** Traces come again within a body. */
function traceId(random: Random): Tree {
  return random() < 0.7 ? `${pick(random, ['a', 'b', 'c'])}${'1'.repeat(31)}` : id(random, 32);
}

function int(random: Random): Tree {
  return mostly(
    random,
    () => pick<Tree>(random, [pick(random, INTS), literal(pick(random, ['0', '-1', '7']))]),
    () =>
      pick<Tree>(random, [
        pick(random, ODD_INTS),
        pick(random, BAD_INTS),
        literal(pick(random, ['-0', '1e3', '1.0', ...LONG_INTS])),
        null,
        true,
      ]),
  );
}

function double(random: Random): Tree {
  return mostly(
    random,
    () => literal(pick(random, DOUBLES)),
    () =>
      pick<Tree>(random, [
        literal(pick(random, ODD_DOUBLES)),
        pick(random, ['NaN', 'Infinity', '-Infinity', '1.5', 'x']),
        null,
      ]),
  );
}

const bool = (random: Random): Tree =>
  mostly(
    random,
    () => random() < 0.5,
    () => pick<Tree>(random, [null, 'x', literal('1')]),
  );

const bytes = (random: Random): Tree =>
  mostly(
    random,
    () => pick(random, ['AQI=', '', '_-8', 'AQ==']),
    () => pick<Tree>(random, ['A', '?', null, true]),
  );

/** An AnyValue; `depth` more levels may follow. */
export function anyValue(random: Random, depth: number): Tree {
  const kind = random();
  if (kind < 0.5) return object(['stringValue', text(random)]);
  if (kind < 0.6) return object(['intValue', int(random)]);
  if (kind < 0.68) return object(['doubleValue', double(random)]);
  if (kind < 0.74) return object(['boolValue', bool(random)]);
  if (kind < 0.78) return object(['bytesValue', bytes(random)]);
  if (kind < 0.82) return pick<Tree>(random, [object(), null, object(['x', 'y'])]);
  if (kind < 0.84) {
    return object(
      ['stringValue', pick<Tree>(random, [null, 'first'])],
      ['intValue', pick<Tree>(random, [null, '5'])],
    );
  }
  if (depth === 0) return object(['boolValue', true]);
  if (kind < 0.92) {
    const values = many(random, 4, () => anyValue(random, depth - 1));
    return object(['arrayValue', pick<Tree>(random, [object(['values', values]), object()])]);
  }
  const values = attributes(random, depth - 1);
  return object(['kvlistValue', pick<Tree>(random, [object(['values', values]), object()])]);
}

const many = (random: Random, most: number, make: () => Tree): Tree => ({
  list: Array.from({ length: Math.floor(random() ** 0.5 * (most + 1)) }, make),
});

/** Attributes with keys of a small set, so that some come twice. */
function attributes(random: Random, depth: number): Tree {
  const most = random() < 0.02 ? 80 : 6;
  const entry = (): Tree => {
    const key = random() < 0.5 ? `key.${Math.floor(random() * 100)}` : text(random);
    const value: Member = ['value', anyValue(random, depth)];
    const kind = random();
    if (kind < 0.94) return object(['key', key], value);
    if (kind < 0.96) return object(value, ['key', key]);
    if (kind < 0.97) return object(['key', key]);
    if (kind < 0.98) return object(value);
    if (kind < 0.99) return object(['key', key], ['value', null]);
    return mostly(
      random,
      () => object(),
      () => pick<Tree>(random, [null, 'x']),
    );
  };
  return mostly(
    random,
    () => many(random, most, entry),
    () => pick<Tree>(random, [null, object(), literal('5')]),
  );
}

/** Each member three times of four. */
const some = (random: Random, members: readonly Member[]) => ({
  members: members.filter(() => random() < 0.75),
});

function event(random: Random): Tree {
  return some(random, [
    ['timeUnixNano', time(random)],
    ['name', text(random)],
    ['attributes', attributes(random, 1)],
    ['droppedAttributesCount', uint32(random)],
  ]);
}

function link(random: Random): Tree {
  return object(
    ['traceId', pick<Tree>(random, ['0'.repeat(32), '', 'no "id"', id(random, 32)])],
    ['spanId', pick<Tree>(random, ['0'.repeat(16), '', null, id(random, 16)])],
    ['traceState', text(random)],
    ['attributes', attributes(random, 1)],
    ['flags', uint32(random)],
  );
}

export function spanTree(random: Random): Tree {
  const rest = some(random, [
    [
      'parentSpanId',
      pick<Tree>(random, ['', null, '0'.repeat(16), id(random, 16), id(random, 16)]),
    ],
    ['traceState', text(random)],
    ['flags', uint32(random)],
    ['name', text(random)],
    ['kind', uint(random, 7)],
    ['startTimeUnixNano', time(random)],
    ['endTimeUnixNano', time(random)],
    [
      'status',
      some(random, [
        ['message', text(random)],
        ['code', uint(random, 3)],
      ]),
    ],
    ['droppedAttributesCount', uint32(random)],
    ['droppedEventsCount', uint32(random)],
    ['droppedLinksCount', uint32(random)],
    ['attributes', attributes(random, 3)],
    ['events', many(random, 3, () => event(random))],
    ['links', random() < 0.8 ? { list: [] } : many(random, 2, () => link(random))],
  ]);
  const known: Member[] = [
    ['traceId', traceId(random)],
    ['spanId', id(random, 16)],
  ];
  return { members: [...known, ...rest.members] };
}

export function logTree(random: Random): Tree {
  return some(random, [
    ['timeUnixNano', time(random)],
    ['observedTimeUnixNano', time(random)],
    ['severityNumber', uint(random, 30)],
    ['severityText', text(random)],
    ['eventName', text(random)],
    ['body', anyValue(random, 3)],
    ['attributes', attributes(random, 3)],
    ['flags', uint32(random)],
    ['droppedAttributesCount', uint32(random)],
    ['traceId', traceId(random)],
    ['spanId', id(random, 16)],
  ]);
}

function exemplar(random: Random): Tree {
  return some(random, [
    ['timeUnixNano', time(random)],
    ['asInt', int(random)],
    ['traceId', id(random, 32)],
    ['filteredAttributes', attributes(random, 1)],
  ]);
}

const pointFrame = (random: Random): Member[] => [
  ['attributes', attributes(random, 1)],
  ['startTimeUnixNano', time(random)],
  [
    'timeUnixNano',
    mostly(
      random,
      () => pick(random, TIMES.slice(1)),
      () => time(random),
    ),
  ],
  ['exemplars', random() < 0.9 ? { list: [] } : many(random, 2, () => exemplar(random))],
  [
    'flags',
    mostly(
      random,
      () => pick(random, [literal('0'), literal('2'), null]),
      () => uint32(random),
    ),
  ],
];

function numberPoint(random: Random): Tree {
  const value: Member = random() < 0.5 ? ['asInt', int(random)] : ['asDouble', double(random)];
  const other: Member[] = random() < random.faults ? [['asInt', int(random)]] : [];
  return object(...pointFrame(random), value, ...other);
}

function histogramPoint(random: Random): Tree {
  const count = Math.floor(random() * 4);
  const buckets = Array.from({ length: count }, () => Math.floor(random() * 1e4));
  const right = buckets.reduce((sum, one) => sum + one, 0);
  const total = random() < random.faults ? right + 1 : right;
  const counted = (value: number): Tree =>
    random() < 0.7 ? literal(String(value)) : String(value);
  const bounds = [literal('-1.5'), literal('0'), literal('5'), literal('1e3')];
  const listed = random() < random.faults ? bounds.toReversed() : bounds;
  return object(
    ...pointFrame(random),
    ['count', counted(total)],
    ['sum', double(random)],
    ['min', random() < 0.5 ? null : double(random)],
    ['max', double(random)],
    ['bucketCounts', { list: buckets.map(counted) }],
    ['explicitBounds', { list: listed.slice(0, Math.max(0, count - 1)) }],
  );
}

export function metricTree(random: Random): Tree {
  const points = (make: (random: Random) => Tree) =>
    ['dataPoints', many(random, 4, () => make(random))] as const;
  const temporality = [
    'aggregationTemporality',
    mostly(
      random,
      () => literal(pick(random, ['1', '2'])),
      () => pick<Tree>(random, [literal('0'), null, '2', literal('3')]),
    ),
  ] as const;
  const monotonic = ['isMonotonic', bool(random)] as const;
  const kind = random();
  const data: Member =
    kind < 0.3
      ? ['gauge', object(points(numberPoint))]
      : kind < 0.65
        ? ['sum', object(temporality, points(numberPoint), monotonic)]
        : kind < 0.99
          ? ['histogram', object(points(histogramPoint), temporality)]
          : ['summary', object(['dataPoints', { list: [] }])];
  const other: Member[] = random() < random.faults ? [['gauge', object()]] : [];
  const names = some(random, [
    ['name', pick(random, ['m', 'n'])],
    ['description', text(random)],
    ['unit', pick(random, ['', '1', 'ms'])],
    ['metadata', attributes(random, 0)],
  ]);
  return object(...names.members, data, ...other, ['exponentialHistogram', null]);
}

/** Members around a resource's or scope's list, before or behind it. */
function origin(random: Random, name: string, list: Member): Tree {
  const described = some(random, [
    ['name', random() < random.faults ? 'com.anthropic.claude_code' : text(random)],
    ['version', text(random)],
    ['attributes', attributes(random, 1)],
    ['droppedAttributesCount', uint32(random)],
  ]);
  const around = some(random, [
    [name, described],
    ['schemaUrl', text(random)],
  ]);
  return { members: random() < 0.5 ? [...around.members, list] : [list, ...around.members] };
}

const SHAPES = {
  traces: ['resourceSpans', 'scopeSpans', 'spans', spanTree],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords', logTree],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics', metricTree],
} as const;

/** A whole export of one signal. */
export function exportTree(random: Random, signal: keyof typeof SHAPES): Tree {
  const [resources, scopes, items, make] = SHAPES[signal];
  const scope = (): Tree => origin(random, 'scope', [items, many(random, 4, () => make(random))]);
  const resource = (): Tree => origin(random, 'resource', [scopes, many(random, 3, scope)]);
  return object([resources, many(random, 3, resource)]);
}
