/**
 * A queue that serves workspaces in turn (round robin), with a limit on the items that run at once,
 * in all and per workspace. The items of a workspace stay in order of arrival. A workspace goes to
 * the back of the round when its item begins or is taken, and again when it ends. So with one item at a time, an
 * item waits for at most one of each other workspace before its workspace's turn.
 *
 *   add ──► waiting ── begin ──► running ── end ──► the workspace goes to the back
 *              └── take, drain, remove, removeForOther
 *
 * Two other schedulers share what cannot be counted in items: `FairQueue` bytes, `SliceScheduler` time.
 */
export class WorkspaceQueue<Item> {
  readonly #atOnce: number;
  readonly #perWorkspace: number;
  /** items by workspace, in the order of turns; no list is empty */
  #waiting = new Map<number, Item[]>();
  /** number of running items by workspace, never 0 */
  readonly #running = new Map<number, number>();
  #runningCount = 0;
  #size = 0;

  constructor(atOnce = 1, perWorkspace = 1) {
    this.#atOnce = atOnce;
    this.#perWorkspace = perWorkspace;
  }

  /** Number of waiting items, without running items. */
  get size(): number {
    return this.#size;
  }

  get isIdle(): boolean {
    return this.#runningCount === 0 && this.#size === 0;
  }

  /** Checks whether an item waits only because too many items of other workspaces are running. */
  get isFull(): boolean {
    return this.#runningCount >= this.#atOnce && this.next(() => true) !== null;
  }

  get all(): Item[] {
    return [...this.#waiting.values()].flat();
  }

  /** The first item of each workspace, in the order of turns. */
  get firsts(): Item[] {
    return [...this.#waiting.values()].flatMap((items) => items.slice(0, 1));
  }

  countOf(workspaceId: number): number {
    return this.#waiting.get(workspaceId)?.length ?? 0;
  }

  add(workspaceId: number, item: Item): void {
    this.#size += 1;
    const items = this.#waiting.get(workspaceId);
    if (items === undefined) this.#waiting.set(workspaceId, [item]);
    else items.push(item);
  }

  /** Puts an item back: it is next. */
  addFirst(workspaceId: number, item: Item): void {
    this.#size += 1;
    const items = [item, ...(this.#waiting.get(workspaceId) ?? [])];
    this.#waiting.delete(workspaceId);
    this.#waiting = new Map([[workspaceId, items], ...this.#waiting]);
  }

  /** Takes a waiting item, which does not count as running. */
  take(workspaceId: number, item: Item): void {
    this.remove(workspaceId, item);
    this.#toBack(workspaceId);
  }

  drain(): Item[] {
    const all = this.all;
    this.#waiting.clear();
    this.#size = 0;
    return all;
  }

  /**
   * Begins the next item; null if no item waits or may run now.
   *
   * @param mayBegin if it is false for an item, the item keeps its place, and later ones may overtake it
   */
  begin(mayBegin: (item: Item) => boolean = () => true): Item | null {
    if (this.#runningCount >= this.#atOnce) return null;
    const next = this.next(mayBegin);
    if (next === null) return null;
    const { workspaceId, item } = next;
    this.#runningCount += 1;
    this.#running.set(workspaceId, this.#runningOf(workspaceId) + 1);
    this.take(workspaceId, item);
    return item;
  }

  /** Ends a running item of a workspace: the workspace goes to the back. */
  end(workspaceId: number): void {
    const running = this.#runningOf(workspaceId);
    if (running === 0) return;
    this.#runningCount -= 1;
    if (running > 1) this.#running.set(workspaceId, running - 1);
    else this.#running.delete(workspaceId);
    this.#toBack(workspaceId);
  }

  #runningOf(workspaceId: number): number {
    return this.#running.get(workspaceId) ?? 0;
  }

  /** Finds the next item of the workspaces that may have one more running item. */
  next(mayBegin: (item: Item) => boolean): { workspaceId: number; item: Item } | null {
    for (const [workspaceId, items] of this.#waiting) {
      if (this.#runningOf(workspaceId) >= this.#perWorkspace) continue;
      const item = items.find(mayBegin);
      if (item !== undefined) return { workspaceId, item };
    }
    return null;
  }

  #toBack(workspaceId: number): void {
    const items = this.#waiting.get(workspaceId);
    if (items === undefined) return;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, items);
  }

  remove(workspaceId: number, item: Item): void {
    const items = this.#waiting.get(workspaceId);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index < 0) return;
    items.splice(index, 1);
    this.#size -= 1;
    if (items.length === 0) this.#waiting.delete(workspaceId);
  }

  /**
   * Makes room in a full queue for an item of a workspace: removes the last item of the workspace
   * with the most, if that has at least two more.
   *
   * @returns the removed item, or null if the new one is to be refused
   */
  removeForOther(workspaceId: number): Item | null {
    let most = workspaceId;
    for (const other of this.#waiting.keys()) {
      if (this.countOf(other) > this.countOf(most)) most = other;
    }
    if (this.countOf(most) <= this.countOf(workspaceId) + 1) return null;
    const item = this.#waiting.get(most)?.pop();
    if (item === undefined) return null;
    this.#size -= 1;
    return item;
  }
}
