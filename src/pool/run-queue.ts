/**
 * Owns the order in which claimed runs are handed out: by turns of workspaces, within a workspace in
 * the order they came. So a workspace with one run waits for one run of each other, however many those
 * have (issue 9.4).
 */

/** What is waiting: a run, with whatever else is known of it. */
export interface QueuedRun {
  readonly workspaceId: number;
  /** how many had arrived when it was claimed */
  readonly steps: number;
}

export class RunQueue<Run extends QueuedRun> {
  /** by workspace; the first of them is next */
  #runs = new Map<number, Run[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get all(): Run[] {
    return [...this.#runs.values()].flat();
  }

  /** The run of each workspace that is next. */
  get firsts(): Run[] {
    return [...this.#runs.values()].flatMap(([first]) => (first === undefined ? [] : [first]));
  }

  countOf(workspaceId: number): number {
    return this.#runs.get(workspaceId)?.length ?? 0;
  }

  push(run: Run): void {
    this.#size += 1;
    const those = this.#runs.get(run.workspaceId);
    if (those === undefined) this.#runs.set(run.workspaceId, [run]);
    else those.push(run);
  }

  /** Puts runs back: they are next. */
  putFirst(runs: readonly Run[]): void {
    const all = new Map<number, Run[]>();
    for (const run of runs) {
      const those = all.get(run.workspaceId);
      if (those === undefined) all.set(run.workspaceId, [run]);
      else those.push(run);
    }
    for (const [workspaceId, those] of this.#runs) {
      all.set(workspaceId, [...(all.get(workspaceId) ?? []), ...those]);
    }
    this.#runs = all;
    this.#size += runs.length;
  }

  /** Takes all of them. */
  drain(): Run[] {
    const all = this.all;
    this.#runs = new Map();
    this.#size = 0;
    return all;
  }

  /**
   * Takes the next run that may be taken.
   * @param mayTake asked about the runs of a workspace until one may
   */
  takeOne(mayTake: (run: Run) => boolean): Run | null {
    for (const [workspaceId, those] of this.#runs) {
      const index = those.findIndex(mayTake);
      const run = those[index];
      if (run === undefined) continue;
      this.#remove(workspaceId, those, index);
      return run;
    }
    return null;
  }

  /**
   * Takes runs by turns of workspaces.
   * @param stepsMax most steps of them together; a run with more is taken alone
   * @param mayTake whether runs of a workspace may be taken now
   */
  take(runsMax: number, stepsMax: number, mayTake: (workspaceId: number) => boolean): Run[] {
    const taken: Run[] = [];
    let room = stepsMax;
    for (let isOpen = true; isOpen; ) {
      isOpen = false;
      // Workspaces that were served move behind the others: this is one turn of each.
      for (const [workspaceId, those] of [...this.#runs]) {
        const [run] = those;
        if (taken.length >= runsMax) return taken;
        if (run === undefined || !mayTake(workspaceId)) continue;
        if (taken.length > 0 && run.steps > room) continue;
        room -= run.steps;
        taken.push(run);
        this.#remove(workspaceId, those, 0);
        isOpen = true;
      }
    }
    return taken;
  }

  #remove(workspaceId: number, those: Run[], index: number): void {
    those.splice(index, 1);
    this.#size -= 1;
    this.#runs.delete(workspaceId);
    if (those.length > 0) this.#runs.set(workspaceId, those);
  }
}
