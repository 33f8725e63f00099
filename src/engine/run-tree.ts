/**
 * Owns which rows of a run's tree are shown: all of a small run; of a large one the way to the current
 * step and its neighbours, steps with findings, and as many others as there is room for, the upper levels
 * first. Everything else is in a row that counts it. Linear in the number of steps.
 */
import type { Finding } from '../model/findings.ts';
import { groupBy } from '../model/groups.ts';
import { compareInt64 } from '../model/json.ts';
import type { HiddenSteps, TreeRow, TreeStep } from '../model/run-tree.ts';
import type { Step } from '../model/steps.ts';

/** A run of no more steps is shown whole; of a larger one so many rows, give or take a list. */
export const ROWS_MAX = 160;
/** Steps before and after the one of a list that leads to the current step. */
export const NEAR = 8;
const FIRST = 3;
/** Findings whose steps are separate rows. */
export const FOUND_MAX = 24;
/** Most steps above the one that is open, and above findings together. */
export const WAY_MAX = 60;
const KEPT_MAX = 100;
const PIECE_STEPS = 4_000;

interface Node {
  readonly step: TreeStep;
  parent: Node | null;
  /** `NO_CHILDREN` for most */
  children: Node[];
  depth: number;
  findings: number;
  /** of itself and everything below; not an object, which would be 20,000 more of them */
  allSteps: number;
  allFindings: number;
  allErrors: number;
  isOpen: boolean;
  /** of the way up on which it was met */
  mark: number;
  /** shown as a separate row wherever its list is shown */
  isKept: boolean;
}

/** Most steps are leaves: a list for each would be a third of the memory that a tree takes. */
const NO_CHILDREN: Node[] = [];

export interface RunTree {
  readonly rows: readonly TreeRow[];
  /** number of the step that is open; 0 without steps */
  readonly current: number;
  /** numbers of the steps of findings, by the finding's id */
  readonly places: ReadonlyMap<string, number>;
}

/** The nodes in time order, with their parents; a step of a cycle has none. */
function* nodesInPieces(steps: readonly TreeStep[]): Generator<void, Node[], void> {
  const spans = new Map<string, Node>();
  const nodes: Node[] = [];
  for (const step of steps) {
    const node: Node = {
      step,
      parent: null,
      children: NO_CHILDREN,
      depth: 0,
      findings: 0,
      allSteps: 1,
      allFindings: 0,
      allErrors: step.isError ? 1 : 0,
      isOpen: false,
      mark: -1,
      isKept: false,
    };
    if (step.source === 'span' && step.spanId !== null && !spans.has(step.spanId)) {
      spans.set(step.spanId, node);
    }
    if (nodes.push(node) % PIECE_STEPS === 0) yield;
  }
  yield;
  for (const node of nodes) {
    const { source, spanId, parentSpanId } = node.step;
    const above = spans.get((source === 'log' ? spanId : parentSpanId) ?? '') ?? null;
    if (above !== node) node.parent = above;
  }
  return nodes;
}

/** Every way up ends: the parent that closes a cycle is taken away. */
function cutCycles(nodes: readonly Node[]): void {
  for (let index = 0; index < nodes.length; index += 1) {
    // A node with a lower mark was on an earlier way, which ends.
    for (let at = nodes[index] ?? null; at !== null && at.mark === -1; at = at.parent) {
      at.mark = index;
      if (at.parent?.mark === index) at.parent = null;
    }
  }
}

function addBelow(node: Node): void {
  const { parent } = node;
  if (parent === null) return;
  if (parent.children === NO_CHILDREN) parent.children = [];
  parent.children.push(node);
}

/** Parents before children, in time order. */
function inPreorder(roots: readonly Node[]): Node[] {
  const order: Node[] = [];
  const waiting = [...roots].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    order.push(node);
    for (let at = node.children.length - 1; at >= 0; at -= 1) {
      const child = node.children[at];
      if (child === undefined) continue;
      child.depth = node.depth + 1;
      waiting.push(child);
    }
  }
  return order;
}

function addUp(order: readonly Node[]): void {
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const node = order[at];
    if (node === undefined) continue;
    node.allFindings += node.findings;
    if (node.parent === null) continue;
    node.parent.allSteps += node.allSteps;
    node.parent.allFindings += node.allFindings;
    node.parent.allErrors += node.allErrors;
  }
}

type Placed = Pick<Step, 'source' | 'spanId' | 'startUnixNano' | 'arrivedOn' | 'twin'>;

/**
 * The step of each finding, by the finding's id: it has the same source, start, span and day of arrival;
 * among several such steps the finding's `twin` number decides. Retention removes steps a day at a time, so
 * these numbers stay valid.
 *
 * @param steps in time order
 */
export function placeFindings<Of extends { readonly step: Placed }>(
  steps: readonly Of[],
  findings: readonly Finding[],
): Map<string, Of> {
  const wanted = new Set(findings.map(({ stepSpanId }) => stepSpanId));
  const bySpan = groupBy(
    steps.filter(({ step }) => wanted.has(step.spanId)),
    ({ step }) => step.spanId,
  );
  const places = new Map<string, Of>();
  for (const { id, place, stepSpanId } of findings) {
    const found = bySpan
      .get(stepSpanId)
      ?.find(
        ({ step }) =>
          step.source === place.source &&
          step.startUnixNano === place.startUnixNano &&
          (place.arrivedOn === undefined || step.arrivedOn === place.arrivedOn) &&
          step.twin === place.twin,
      );
    if (found !== undefined) places.set(id, found);
  }
  return places;
}

/** Keeps a node and the way to it. @returns how many more nodes are kept */
function keepWay(node: Node): number {
  let more = 0;
  for (let at: Node | null = node; at !== null; at = at.parent) {
    if (!at.isKept) more += 1;
    at.isKept = true;
    if (at !== node) at.isOpen = true;
  }
  return more;
}

interface Way {
  readonly current: Node | null;
  readonly nodes: ReadonlySet<Node>;
}

/**
 * Bounds the way to a node: where it is longer, its lower part becomes a separate tree, and the step
 * above that counts the rest.
 */
function shortenWay(roots: Node[], current: Node): void {
  if (current.depth < WAY_MAX) return;
  let top = current;
  for (let up = 1; up < WAY_MAX && top.parent !== null; up += 1) top = top.parent;
  const above = top.parent;
  if (above === null) return;
  above.children.splice(above.children.indexOf(top), 1);
  top.parent = null;
  let root = above;
  for (let at: Node | null = above; at !== null; at = at.parent) {
    at.allSteps -= top.allSteps;
    at.allFindings -= top.allFindings;
    at.allErrors -= top.allErrors;
    root = at;
  }
  roots.splice(roots.indexOf(root) + 1, 0, top);
}

function shownOf(list: readonly Node[], way: Way): boolean[] {
  const shown = list.map((node, index) => node.isKept || index < FIRST);
  const at = list.findIndex((node) => way.nodes.has(node));
  if (at !== -1) {
    const reach = list[at] === way.current ? NEAR : 1;
    for (let near = Math.max(0, at - reach); near <= at + reach && near < list.length; near += 1) {
      shown[near] = true;
    }
  }
  if (list.length > 0) shown[list.length - 1] = true;
  // A gap of one step is no shorter than the step.
  return shown.map((is, index) => is || (shown[index - 1] === true && shown[index + 1] === true));
}

const rowsOf = (shown: readonly boolean[]): number =>
  shown.filter((is, index) => is || shown[index - 1] === true).length;

/** Opens nodes, the upper levels first, while there is room. */
function openMore(roots: readonly Node[], way: Way): void {
  let rows = 0;
  let level: Node[] = [];
  const add = (list: readonly Node[]): void => {
    const shown = shownOf(list, way);
    rows += rowsOf(shown);
    level.push(...list.filter((_, index) => shown[index] === true));
  };
  add(roots);
  const late: Node[] = [];
  while (level.length > 0) {
    const current = level;
    level = [];
    for (const node of current) {
      if (node.isOpen) add(node.children);
      else if (node.children.length > 0) late.push(node);
    }
  }
  late.sort((one, other) => one.depth - other.depth || one.step.number - other.step.number);
  for (let at = 0; at < late.length && rows + FIRST < ROWS_MAX; at += 1) {
    const node = late[at];
    if (node === undefined) break;
    if (rows + rowsOf(shownOf(node.children, way)) > ROWS_MAX) continue;
    node.isOpen = true;
    level = [];
    add(node.children);
    late.push(...level.filter(({ children }) => children.length > 0));
  }
}

const belowOf = ({ step, findings, allSteps, allFindings, allErrors }: Node): HiddenSteps => ({
  steps: allSteps - 1,
  findings: allFindings - findings,
  errors: allErrors - (step.isError ? 1 : 0),
});

function gapOf(gap: readonly Node[], depth: number): TreeRow {
  const [first] = gap;
  const hidden = { steps: 0, findings: 0, errors: 0 };
  let end = first?.step.endUnixNano ?? '0';
  for (const { step, allSteps, allFindings, allErrors } of gap) {
    hidden.steps += allSteps;
    hidden.findings += allFindings;
    hidden.errors += allErrors;
    if (compareInt64(step.endUnixNano, end) > 0) end = step.endUnixNano;
  }
  const lead = gap.find(({ allFindings }) => allFindings > 0) ?? first;
  return {
    kind: 'gap',
    number: lead?.step.number ?? 1,
    depth,
    hidden,
    siblings: gap.length,
    isRepeated: gap.every(({ step }) => step.nameKey === first?.step.nameKey),
    startUnixNano: first?.step.startUnixNano ?? '0',
    endUnixNano: end,
  };
}

function layOut(roots: readonly Node[], way: Way): TreeRow[] {
  const rows: TreeRow[] = [];
  interface Open {
    readonly list: readonly Node[];
    readonly shown: readonly boolean[];
    at: number;
  }
  const begin = (list: readonly Node[]): Open => ({ list, shown: shownOf(list, way), at: 0 });
  const stack: Open[] = [begin(roots)];
  for (let open = stack.at(-1); open !== undefined; open = stack.at(-1)) {
    const node = open.list[open.at];
    if (node === undefined) {
      stack.pop();
      continue;
    }
    if (open.shown[open.at] === true) {
      open.at += 1;
      const { number } = node.step;
      const { depth, children } = node;
      const isClosed = children.length > 0 && !node.isOpen;
      rows.push({ kind: 'step', number, depth, below: isClosed ? belowOf(node) : null });
      if (children.length > 0 && node.isOpen) stack.push(begin(children));
      continue;
    }
    const gap: Node[] = [];
    for (let one = open.list[open.at]; one !== undefined && open.shown[open.at] !== true; ) {
      gap.push(one);
      open.at += 1;
      one = open.list[open.at];
    }
    rows.push(gapOf(gap, node.depth));
  }
  return rows;
}

/**
 * The rows of a run's tree that are shown with one step open.
 *
 * @param steps all steps of the run, in time order
 * @param sought the step that is open; the finding's step, where the run has it
 */
export function* treeInPieces(
  steps: readonly TreeStep[],
  findings: readonly Finding[],
  sought: { readonly number: number; readonly findingId: string | null },
): Generator<void, RunTree, void> {
  const nodes = yield* nodesInPieces(steps);
  yield;
  cutCycles(nodes);
  yield;
  for (const node of nodes) addBelow(node);
  yield;
  const roots = nodes.filter(({ parent }) => parent === null);
  const places = placeFindings(nodes, findings);
  for (const node of places.values()) node.findings += 1;
  const order = inPreorder(roots);
  yield;
  addUp(order);
  yield;
  const found = sought.findingId === null ? undefined : places.get(sought.findingId);
  const current = Math.min(found?.step.number ?? sought.number, nodes.length);
  const open = nodes[current - 1] ?? null;
  const own = new Set<Node>();
  const way = { current: open, nodes: own };
  if (nodes.length <= ROWS_MAX) {
    for (const node of nodes) Object.assign(node, { isOpen: true, isKept: true });
  } else if (open !== null) {
    shortenWay(roots, open);
    keepWay(open);
    open.isOpen = true;
    for (let at: Node | null = open; at !== null; at = at.parent) own.add(at);
    const near = (node: Node): number => Math.abs(node.step.number - current);
    const all = [...new Set(places.values())].sort((a, b) => near(a) - near(b));
    let kept = 0;
    for (const node of all.slice(0, FOUND_MAX)) {
      if (node.depth < WAY_MAX && kept < KEPT_MAX) kept += keepWay(node);
    }
    openMore(roots, way);
    yield;
  }
  return {
    rows: layOut(roots, way),
    current,
    places: new Map([...places].map(([id, { step }]) => [id, step.number])),
  };
}
