/**
 * A source file and the parts of its syntax tree that the tests of this folder check. Parses with
 * oxc, through `rolldown`, which vitest installs anyway; runs none of the source.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'rolldown/utils';
import { bareLoops } from './bare-loops.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface SourceFile {
  /** from the project's root, with slashes */
  readonly path: string;
  readonly lines: number;
  /** modules named by static, dynamic, type-only imports and by re-exports, in order */
  readonly specifiers: readonly string[];
  /** the ones that `import type` does not erase */
  readonly valueSpecifiers: readonly string[];
  /** modules of `export … from` */
  readonly reExports: readonly string[];
  /** names that are no members of something else: variables, globals, types */
  readonly references: readonly string[];
  /** properties of `process`, as `env` or `env.PORT`; `*` where computed */
  readonly processProperties: readonly string[];
  /** expressions that read the clock through `Date`; `new Date(ms)` does not */
  readonly clockReads: readonly string[];
  /** every identifier, members and private names included */
  readonly names: readonly string[];
  readonly comments: readonly string[];
  /** of tests and groups of tests */
  readonly titles: readonly string[];
  /** lines of tests that assert only in loops over what may be empty */
  readonly bareLoops: readonly number[];
  /** exported interfaces, type aliases and classes */
  readonly exportedTypes: readonly string[];
}

const TESTS: ReadonlySet<string> = new Set(['describe', 'it', 'test']);

/** The parts of a syntax node that are read here. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly name?: unknown;
  readonly value?: unknown;
  readonly computed?: boolean;
  readonly shorthand?: boolean;
  readonly key?: SyntaxNode;
  readonly object?: SyntaxNode;
  readonly callee?: SyntaxNode;
  readonly tag?: SyntaxNode;
  readonly property?: SyntaxNode;
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null } }[];
}

/** The text of a string literal, or of a template without expressions; else null. */
function textOf({ value, quasis }: SyntaxNode): string | null {
  if (typeof value === 'string') return value;
  return quasis?.length === 1 ? (quasis[0]?.value.cooked ?? null) : null;
}

const isNamed = (node: SyntaxNode | undefined, name: string): boolean =>
  node?.type === 'Identifier' && node.name === name;

/** `test` of `test(…)`, `test.each(…)(…)` and `test.skipIf(…).each(…)(…)`; null without a name. */
function calledName({ type, name, callee, object, tag }: SyntaxNode): string | null {
  if (type === 'Identifier') return String(name);
  const inner = callee ?? object ?? tag;
  return inner === undefined ? null : calledName(inner);
}

export function parseSource(path: string, text: string): SourceFile {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`);
  const specifiers: string[] = [];
  const valueSpecifiers: string[] = [];
  const reExports: string[] = [];
  const references: string[] = [];
  const names: string[] = [];
  const titles: string[] = [];
  const exportedTypes: string[] = [];
  const processProperties: string[] = [];
  const clockReads: string[] = [];
  /** places of identifiers that are members */
  const members = new Set<number>();
  const addSpecifier = (source: SyntaxNode | null, isErased = false): void => {
    const specifier = source === null ? null : textOf(source);
    if (specifier === null) return;
    specifiers.push(specifier);
    if (!isErased) valueSpecifiers.push(specifier);
  };
  const addReExport = (source: SyntaxNode | null): void => {
    addSpecifier(source);
    if (source !== null) reExports.push(String(source.value));
  };
  const noteKey = ({ key, computed, shorthand }: SyntaxNode): void => {
    if (key !== undefined && computed !== true && shorthand !== true) members.add(key.start);
  };
  const propertyOf = ({ property, computed }: SyntaxNode): string =>
    computed === true ? '*' : String(property?.name);
  const noteMember = (node: SyntaxNode): void => {
    if (node.computed !== true && node.property !== undefined) members.add(node.property.start);
    if (isNamed(node.object, 'process')) processProperties.push(propertyOf(node));
    if (isNamed(node.object, 'Date') && propertyOf(node) === 'now') clockReads.push('Date.now');
    const { object } = node;
    if (object?.type === 'MemberExpression' && isNamed(object.object, 'process')) {
      processProperties.push(`${propertyOf(object)}.${propertyOf(node)}`);
    }
  };
  new Visitor({
    ImportDeclaration: ({ source, importKind }) => addSpecifier(source, importKind === 'type'),
    ExportAllDeclaration: ({ source }) => addReExport(source),
    ExportNamedDeclaration: ({ source, declaration }) => {
      addReExport(source);
      const isType = /^(TSInterface|TSTypeAlias|Class)Declaration$/.test(declaration?.type ?? '');
      if (isType && declaration !== null && 'id' in declaration && declaration.id !== null) {
        if ('name' in declaration.id) exportedTypes.push(declaration.id.name);
      }
    },
    ImportExpression: ({ source }) => addSpecifier(source),
    TSImportType: ({ source }) => addSpecifier(source, true),
    CallExpression: ({ callee, arguments: [source] }) => {
      if (isNamed(callee, 'Date')) clockReads.push('Date()');
      if (isNamed(callee, 'require')) addSpecifier(source ?? null);
      const title = source === undefined ? null : textOf(source);
      if (title !== null && TESTS.has(calledName(callee) ?? '')) titles.push(title);
    },
    NewExpression: ({ callee, arguments: given }) => {
      if (isNamed(callee, 'Date') && given.length === 0) clockReads.push('new Date()');
    },
    MemberExpression: noteMember,
    Property: noteKey,
    MethodDefinition: noteKey,
    PropertyDefinition: noteKey,
    TSPropertySignature: noteKey,
    TSMethodSignature: noteKey,
    TSQualifiedName: ({ right }) => members.add(right.start),
    Identifier: ({ name, start }) => {
      names.push(name);
      if (!members.has(start)) references.push(name);
    },
    PrivateIdentifier: ({ name }) => names.push(name),
  }).visit(program);
  return {
    path,
    lines: text.split('\n').length - 1,
    specifiers,
    valueSpecifiers,
    reExports,
    references,
    processProperties,
    clockReads,
    names,
    comments: comments.map(({ value }) => value),
    titles,
    bareLoops: bareLoops(program).map((start) => text.slice(0, start).split('\n').length),
    exportedTypes,
  };
}

/** Installed packages, and what the suite of clients leaves behind. */
const NOT_OURS: ReadonlySet<string> = new Set(['node_modules', '.run']);

/** Paths of all files below a folder, from the project's root, with slashes. */
export function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesIn(path) : [path];
    })
    .sort();
}

/** Folder → its sources, once for the test files of a worker: parsing `src` takes a second. */
const sourcesOf = new Map<string, readonly SourceFile[]>();

export function readSources(folder = 'src'): readonly SourceFile[] {
  const known = sourcesOf.get(folder);
  if (known !== undefined) return known;
  const sources = filesIn(folder)
    .filter((path) => /\.(ts|js)$/.test(path))
    .map((path) => parseSource(path, readFileSync(join(ROOT, path), 'utf8')));
  sourcesOf.set(folder, sources);
  return sources;
}
