/**
 * Renders the chart of deploy/ as Helm does, as far as this chart goes: actions, pipelines, `if`, `with`,
 * `range`, `define` and the functions that its templates call. Anything else is an error, not left out.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dump, load, loadAll } from 'js-yaml';

const CHART = new URL('../../deploy/helm/sluice/', import.meta.url);

type Values = Readonly<Record<string, unknown>>;
interface Scope {
  readonly dot: unknown;
  readonly variables: Readonly<Record<string, unknown>>;
}
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly code: string }
  | { readonly kind: 'block'; readonly code: string; body: Node[]; otherwise: Node[] };

/** Go's truth: empty is false. */
function isTrue(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (typeof value === 'object') return Object.keys(value).length > 0;
  return Boolean(value);
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);
const indented = (spaces: number, text: string): string => text.replace(/^/gm, ' '.repeat(spaces));

type Call = (...values: never[]) => unknown;
const FUNCTIONS: Readonly<Record<string, Call>> = {
  quote: (value: unknown) => JSON.stringify(textOf(value)),
  toYaml: (value: unknown) => dump(value, { lineWidth: -1 }).trimEnd(),
  nindent: (spaces: number, text: string) => `\n${indented(spaces, text)}`,
  default: (fallback: unknown, value: unknown) => (isTrue(value) ? value : fallback),
  printf: (format: string, value: unknown) => format.replace('%s', textOf(value)),
  print: (...parts: unknown[]) => parts.map(textOf).join(''),
  trunc: (length: number, text: string) => text.slice(0, length),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  sha256sum: (text: string) => createHash('sha256').update(text).digest('hex'),
  mul: (one: number, other: number) => one * other,
  int: (value: unknown) => Math.trunc(Number(value)),
  gt: (one: number, other: number) => one > other,
  eq: (one: unknown, other: unknown) => one === other,
  not: (value: unknown) => !isTrue(value),
  or: (one: unknown, other: unknown) => (isTrue(one) ? one : other),
  required: (message: string, value: unknown) => {
    if (!isTrue(value)) throw new Error(message);
    return value;
  },
  dict: (...pairs: unknown[]) =>
    Object.fromEntries(
      Array.from({ length: pairs.length / 2 }, (_, at) => [pairs[2 * at], pairs[2 * at + 1]]),
    ),
  values: (value: object) => Object.values(value),
  sortAlpha: (list: string[]) => list.toSorted(),
  uniq: (list: unknown[]) => [...new Set(list)],
  urlParse: (url: string) => {
    const { hostname, host, protocol } = new URL(url);
    return { hostname, host, scheme: protocol.slice(0, -1) };
  },
};

function parse(source: string): { nodes: Node[]; defined: Map<string, Node[]> } {
  const defined = new Map<string, Node[]>();
  const nodes: Node[] = [];
  const open: { list: Node[]; block: Extract<Node, { kind: 'block' }> | null }[] = [
    { list: nodes, block: null },
  ];
  const trimmed = source
    .replace(/\{\{-? *\/\*[\s\S]*?\*\/ *-?\}\}/g, '')
    .replace(/\s*\{\{-/g, '{{')
    .replace(/-\}\}\s*/g, '}}');
  for (const part of trimmed.split(/(\{\{[\s\S]*?\}\})/)) {
    const top = open.at(-1);
    if (top === undefined) throw new Error('an end too many');
    if (!part.startsWith('{{')) {
      if (part !== '') top.list.push({ kind: 'text', text: part });
      continue;
    }
    const code = part.slice(2, -2).trim();
    const [word = ''] = code.split(/\s/);
    if (['if', 'with', 'range', 'define'].includes(word)) {
      const block = { kind: 'block', code, body: [], otherwise: [] } as Extract<
        Node,
        { kind: 'block' }
      >;
      if (word === 'define') defined.set(JSON.parse(code.slice(word.length)), block.body);
      else top.list.push(block);
      open.push({ list: block.body, block });
    } else if (code === 'else') {
      if (top.block === null) throw new Error('else without a block');
      top.list = top.block.otherwise;
    } else if (code === 'end') open.pop();
    else top.list.push({ kind: 'action', code });
  }
  if (open.length !== 1) throw new Error('an end is missing');
  return { nodes, defined };
}

class Renderer {
  readonly #defined = new Map<string, Node[]>();
  readonly #files = new Map<string, Node[]>();
  readonly #root: Values;

  constructor(root: Values, files: ReadonlyMap<string, string>) {
    this.#root = root;
    for (const [path, text] of files) {
      const { nodes, defined } = parse(text);
      this.#files.set(path, nodes);
      for (const [name, body] of defined) this.#defined.set(name, body);
    }
  }

  file(path: string): string {
    return this.#render(this.#files.get(path) ?? [], { dot: this.#root, variables: {} });
  }

  #render(nodes: readonly Node[], outer: Scope): string {
    let scope = outer;
    let text = '';
    for (const node of nodes) {
      if (node.kind === 'text') text += node.text;
      else if (node.kind === 'block') text += this.#block(node, scope);
      else {
        const [, name, value] = /^\$(\w+) := (.*)$/s.exec(node.code) ?? [];
        if (name === undefined) text += textOf(this.#pipeline(node.code, scope));
        else {
          const variables = { ...scope.variables, [name]: this.#pipeline(value ?? '', scope) };
          scope = { ...scope, variables };
        }
      }
    }
    return text;
  }

  #block({ code, body, otherwise }: Extract<Node, { kind: 'block' }>, scope: Scope): string {
    const [, word, rest = ''] = /^(\w+)\s+(.*)$/s.exec(code) ?? [];
    if (word === 'range') {
      const [, key = '', item = '', list = ''] = /^\$(\w+), \$(\w+) := (.*)$/.exec(rest) ?? [];
      const found = (this.#pipeline(list, scope) ?? {}) as Values;
      // Go goes through a map by its sorted keys.
      const entries = Object.entries(found).toSorted(([one], [other]) => (one < other ? -1 : 1));
      return entries
        .map(([name, dot]) => {
          const variables = { ...scope.variables, [key]: name, [item]: dot };
          return this.#render(body, { dot, variables });
        })
        .join('');
    }
    const value = this.#pipeline(rest, scope);
    if (!isTrue(value)) return this.#render(otherwise, scope);
    return this.#render(body, word === 'with' ? { ...scope, dot: value } : scope);
  }

  #pipeline(code: string, scope: Scope): unknown {
    const tokens = code.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? [];
    let at = 0;
    const value = (): unknown => {
      const token = tokens[at++] ?? '';
      if (token !== '(') return this.#operand(token, scope);
      const inner = piped();
      at += 1;
      const path = /^\.\w/.test(tokens[at] ?? '') ? (tokens[at++] ?? '') : '';
      return path.split('.').filter(Boolean).reduce(member, inner);
    };
    const command = (last: readonly unknown[]): unknown => {
      const name = tokens[at] ?? '';
      const isCall = /^[a-zA-Z]\w*$/.test(name) && name !== 'true' && name !== 'false';
      if (!isCall) return value();
      at += 1;
      const values: unknown[] = [];
      while (at < tokens.length && tokens[at] !== '|' && tokens[at] !== ')') values.push(value());
      return this.#call(name, [...values, ...last]);
    };
    const piped = (): unknown => {
      let result = command([]);
      while (tokens[at] === '|') {
        at += 1;
        result = command([result]);
      }
      return result;
    };
    const result = piped();
    if (at !== tokens.length) throw new Error(`cannot read {{ ${code} }}`);
    return result;
  }

  #call(name: string, values: readonly unknown[]): unknown {
    if (name === 'include') {
      const [template, dot] = values as [string, unknown];
      const body = this.#defined.get(template) ?? this.#files.get(template);
      if (body === undefined) throw new Error(`no template ${template}`);
      return this.#render(body, { dot, variables: {} });
    }
    const call = FUNCTIONS[name];
    if (call === undefined) throw new Error(`no function ${name}`);
    return call(...(values as never[]));
  }

  #operand(token: string, { dot, variables }: Scope): unknown {
    if (token.startsWith('"')) return JSON.parse(token);
    if (/^-?\d+$/.test(token)) return Number(token);
    const [, name, path = ''] = /^(\$\w*)?(.*)$/.exec(token) ?? [];
    const fields = path.split('.').filter(Boolean);
    if (name === undefined && !token.startsWith('.')) throw new Error(`cannot read ${token}`);
    if (name === undefined) return fields.reduce(member, dot);
    if (name === '$') return fields.reduce(member, this.#root as unknown);
    if (!(name.slice(1) in variables)) throw new Error(`no variable ${name}`);
    return fields.reduce(member, variables[name.slice(1)]);
  }
}

function member(value: unknown, name: string): unknown {
  return (value as Values | null | undefined)?.[name];
}

/** Values of a user over those of the chart; maps are merged, everything else is replaced. */
function merged(own: unknown, given: unknown): unknown {
  const isMap = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(own) || !isMap(given)) return given ?? own;
  const names = new Set([...Object.keys(own), ...Object.keys(given)]);
  return Object.fromEntries([...names].map((name) => [name, merged(own[name], given[name])]));
}

/** One object of Kubernetes. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  // Each kind has another one; tests read what they know.
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of Kubernetes
  readonly [other: string]: any;
}

/** All objects of a release named `release`. @param values beside those of values.yaml */
export function renderChart(values: Values): Manifest[] {
  const read = (path: string): string => readFileSync(new URL(path, CHART), 'utf8');
  const { name, version, appVersion } = load(read('Chart.yaml')) as Record<string, string>;
  const names = readdirSync(new URL('templates/', CHART)).filter((file) => file !== 'NOTES.txt');
  const BasePath = 'sluice/templates';
  const files = new Map(names.map((file) => [`${BasePath}/${file}`, read(`templates/${file}`)]));
  const root = {
    Values: merged(load(read('values.yaml')), values),
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: 'release', Namespace: 'default', Service: 'Helm' },
    Template: { BasePath },
  };
  const renderer = new Renderer(root, files);
  return names
    .flatMap((file) => loadAll(renderer.file(`${BasePath}/${file}`)))
    .filter((manifest): manifest is Manifest => isTrue(manifest));
}
