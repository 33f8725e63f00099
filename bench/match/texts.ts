/**
 * The texts that are matched: kinds of text that runs contain, from files of every checkout, so
 * that two runs of the benchmark match the same. Random texts use a fixed seed.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { VerifiedCorpus } from '../../src/engine/corpus/corpus.ts';
import { parseRuleFile } from '../../src/engine/corpus/rule-file.ts';
import type { JsonValue } from '../../src/model/json.ts';

export interface TextKind {
  readonly name: string;
  readonly texts: readonly string[];
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const KIB = 1024;
/** Of each kind and size, so that no pattern's automaton is warm for one text only. */
const TEXTS_MAX = 12;

const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** Consecutive pieces of a text. */
function cut(text: string, chars: number): string[] {
  const pieces: string[] = [];
  for (let from = 0; from + chars <= text.length && pieces.length < TEXTS_MAX; from += chars) {
    pieces.push(text.slice(from, from + chars));
  }
  return pieces;
}

/** Long enough for several pieces, by repetition with another beginning each time. */
function repeated(text: string, chars: number): string {
  let all = '';
  for (let turn = 0; all.length < chars; turn += 1) all += `${turn}. ${text}\n`;
  return all;
}

const CHATS = [
  'Hello! Can you tell me when my parcel 4471 will arrive? It was due on Tuesday.',
  'Please write a short, friendly mail to the team about the release on Friday, and mention the ' +
    'new export. Keep it under a hundred words.',
  'I have a list of customers in a table with name, city and revenue. How do I get the three ' +
    'largest per city in SQL? I use PostgreSQL 16 and would like to see an example with a window ' +
    'function, please.',
  'Summarise the meeting notes below in five bullet points and list who has to do what by when.',
];

const RUSSIAN =
  'Добрый день! Подскажите, пожалуйста, когда придёт моя посылка, и можно ли изменить адрес доставки. ';
const CHINESE =
  '您好，请问我的包裹什么时候到？我想修改收货地址，并且查询一下上个月的订单明细和发票信息。';
const JAPANESE =
  'こんにちは。荷物はいつ届きますか。配送先の住所を変更したいので、先月の注文の明細と請求書も確認させてください。';
const HINDI =
  'नमस्ते, कृपया बताइए कि मेरा पार्सल कब आएगा और क्या मैं शुक्रवार से पहले डिलीवरी का पता बदल सकता हूँ। ';
const ARABIC = 'مرحبا، متى تصل الطرود الخاصة بي وهل يمكنني تغيير عنوان التسليم قبل يوم الجمعة؟ ';

function stringsIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}

/** The corpus's own attacks, in another order, with harmless text between them. */
function attacks(corpus: VerifiedCorpus, prose: string): string {
  const texts = corpus.files
    .flatMap((file) => parseRuleFile(file).truePositives)
    .flatMap((one) => stringsIn(one))
    .filter((text) => text.length > 20 && text.length < 1000)
    .map((text) => ({ text, key: createHash('sha256').update(text).digest('hex') }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  return texts.map(({ text }, at) => `${text}\n${prose.slice(at * 80, at * 80 + 300)}\n`).join('');
}

function noise(bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let block = 0; block * 32 < bytes; block += 1) {
    blocks.push(createHash('sha256').update(`noise ${block}`).digest());
  }
  return Buffer.concat(blocks);
}

/** Every kind of text in its sizes. */
export function textKinds(corpus: VerifiedCorpus): TextKind[] {
  const prose = read('node_modules/typescript/LICENSE').replace(/\s+/g, ' ');
  const long = repeated(prose, 300 * KIB);
  const documents = [
    'ARCHITECTURE.md',
    'README.md',
    'docs/otlp-conformance.md',
    'docs/configuration.md',
  ]
    .map(read)
    .join('\n');
  const technical = repeated(documents, 800 * KIB);
  const json = read('package-lock.json');
  const code = repeated(
    [
      'src/http/transport/exchange.ts',
      'src/db/telemetry/copy-writer.ts',
      'src/otlp/metrics.ts',
      'src/engine/matcher/matcher.ts',
    ]
      .map(read)
      .join('\n'),
    800 * KIB,
  );
  const minified = code.replace(/\s*\n\s*/g, ' ').replace(/ ([{}()=,;:?<>|&+*/-]) /g, '$1');
  const attack = attacks(corpus, prose);
  const kind = (name: string, text: string, chars: number): TextKind => ({
    name: `${name}, ${chars < KIB ? `${chars} B` : `${chars / KIB} KB`}`,
    texts: cut(text, chars),
  });
  return [
    { name: 'short chat, 80–260 B', texts: CHATS },
    kind('chat', repeated(CHATS.join('\n'), 40 * KIB), 2 * KIB),
    kind('prose', long, 2 * KIB),
    kind('prose', long, 20 * KIB),
    ...[2, 20, 60].flatMap((size) => [
      kind('technical documents', technical, size * KIB),
      kind('tool JSON', json, size * KIB),
      kind('source code', code, size * KIB),
    ]),
    kind('attack mixture', attack, 2 * KIB),
    kind('attack mixture', attack, 20 * KIB),
    kind('Russian', repeated(RUSSIAN.repeat(20), 60 * KIB), 2 * KIB),
    kind('Chinese', repeated(CHINESE.repeat(20), 60 * KIB), 2 * KIB),
    kind('Japanese', repeated(JAPANESE.repeat(20), 60 * KIB), 2 * KIB),
    kind('Hindi', repeated(HINDI.repeat(20), 60 * KIB), 2 * KIB),
    kind('Arabic', repeated(ARABIC.repeat(20), 60 * KIB), 2 * KIB),
    kind('base64', noise(300 * KIB).toString('base64'), 20 * KIB),
    kind('minified code', minified, 20 * KIB),
  ].filter(({ texts }) => texts.length > 0);
}
