/**
 * A queue that serves workspaces in turn (round robin), one item at a time. The items of a workspace
 * stay in order of arrival, and a workspace goes to the back of the round when its item ends. So an
 * item waits for at most one of each other workspace before its workspace's turn.
 *
 *   add ──► waiting ── begin ──► current ── end ──► the workspace goes to the back
 *              └── remove, removeForOther
 */
export class WorkspaceQueue<Item> {
  /** by workspace, in the order of their turns; no list is empty */
  readonly #waiting = new Map<number, Item[]>();
  /** the workspace of the current item */
  #current: number | null = null;
  #size = 0;

  /** Number of waiting items, without the current one. */
  get size(): number {
    return this.#size;
  }

  /** Whether there is neither a current nor a waiting item. */
  get isIdle(): boolean {
    return this.#current === null && this.#size === 0;
  }

  /** Number of waiting items of a workspace. */
  countOf(workspaceId: number): number {
    return this.#waiting.get(workspaceId)?.length ?? 0;
  }

  add(workspaceId: number, item: Item): void {
    this.#size += 1;
    const items = this.#waiting.get(workspaceId);
    if (items === undefined) this.#waiting.set(workspaceId, [item]);
    else items.push(item);
  }

  /** Makes the next item the current one; null while there is one, and when none waits. */
  begin(): Item | null {
    if (this.#current !== null) return null;
    for (const [workspaceId, items] of this.#waiting) {
      const item = items.shift();
      if (items.length === 0) this.#waiting.delete(workspaceId);
      if (item === undefined) continue;
      this.#size -= 1;
      this.#current = workspaceId;
      return item;
    }
    return null;
  }

  /** Ends the current item: its workspace goes to the back. */
  end(): void {
    const workspaceId = this.#current;
    this.#current = null;
    const items = workspaceId === null ? undefined : this.#waiting.get(workspaceId);
    if (workspaceId === null || items === undefined) return;
    this.#waiting.delete(workspaceId);
    this.#waiting.set(workspaceId, items);
  }

  /** Removes a waiting item. */
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
