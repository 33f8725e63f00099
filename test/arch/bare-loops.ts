/**
 * Finds tests whose every assertion is in a loop over a list that may be empty: they pass when the list
 * has become empty. `someOf(list)` (test/support/cases.ts) fails then.
 *
 * A list is known to have an item when it is written in the file, has the name of a constant, or is made
 * by `someOf`, `Array.from` or `split`. What a property test draws, and parameters, are left alone.
 */

/** The parts of a syntax node that are read here. */
interface LoopNode {
  readonly type: string;
  readonly start: number;
  readonly [part: string]: unknown;
}

const isNode = (value: unknown): value is LoopNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

function visit(
  node: LoopNode,
  above: readonly LoopNode[],
  act: (node: LoopNode, above: readonly LoopNode[]) => void,
): void {
  act(node, above);
  const path = [...above, node];
  for (const part of Object.values(node).flat()) if (isNode(part)) visit(part, path, act);
}

/** `expect` of `expect(a).not.toBe(b)`, `test` of `test.each(cases)(…)`. */
function rootName(node: unknown): string {
  if (!isNode(node)) return '';
  if (node.type === 'Identifier') return String(node.name);
  return rootName(node.callee ?? node.object ?? node.tag);
}

const CONSTANT = /^[A-Z][A-Z0-9_]*$/;
const MAKERS: ReadonlySet<string> = new Set(['someOf', 'from', 'split']);
/** Calls with as many items as the list has that they are made of. */
const KEEPERS: ReadonlySet<string> = new Set(['entries', 'keys', 'values', 'map', 'concat']);

/** Checks whether a list surely has an item. */
function hasItem(list: unknown, declared: ReadonlyMap<string, unknown>): boolean {
  if (!isNode(list)) return false;
  const inner = list.expression ?? list.argument;
  if (inner !== undefined && list.type !== 'SpreadElement') return hasItem(inner, declared);
  if (list.type === 'ArrayExpression') {
    return (list.elements as unknown[]).some(
      (one) => isNode(one) && (one.type !== 'SpreadElement' || hasItem(one.argument, declared)),
    );
  }
  if (list.type === 'ObjectExpression') return (list.properties as unknown[]).length > 0;
  if (list.type === 'NewExpression') return hasItem((list.arguments as unknown[])[0], declared);
  if (list.type === 'Identifier') {
    const name = String(list.name);
    return CONSTANT.test(name) || !declared.has(name) || hasItem(declared.get(name), declared);
  }
  const { callee } = list;
  if (list.type !== 'CallExpression' || !isNode(callee)) return false;
  const name = String((isNode(callee.property) ? callee.property : callee).name);
  if (MAKERS.has(name)) return true;
  const isOfObject = rootName(callee) === 'Object';
  const source = isOfObject ? (list.arguments as unknown[])[0] : callee.object;
  return KEEPERS.has(name) && hasItem(source, declared);
}

const isBody = (node: LoopNode): boolean =>
  node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression';

/** Returns the places of such tests. */
export function bareLoops(program: object): number[] {
  const declared = new Map<string, unknown>();
  const tests: LoopNode[] = [];
  visit(program as LoopNode, [], (node) => {
    if (node.type === 'VariableDeclarator' && isNode(node.id)) {
      const init = node.id.type === 'Identifier' ? node.init : null;
      visit(node.id, [], ({ type, name }) => {
        if (type === 'Identifier') declared.set(String(name), init);
      });
    }
    if (node.type === 'CallExpression' && ['it', 'test'].includes(rootName(node))) tests.push(node);
  });
  const isBare = (node: LoopNode): boolean =>
    node.type === 'ForOfStatement' && !hasItem(node.right, declared);
  return tests.flatMap((call) => {
    let [inLoops, others] = [0, 0];
    for (const body of (call.arguments as LoopNode[]).filter(isBody)) {
      visit(body, [], (node, above) => {
        if (node.type !== 'CallExpression' || !['expect', 'fc'].includes(rootName(node))) return;
        if (above.some(isBare)) inLoops += 1;
        else others += 1;
      });
    }
    return inLoops > 0 && others === 0 ? [call.start] : [];
  });
}
