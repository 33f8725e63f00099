/**
 * A queue of claimed runs that serves workspaces in turn (round robin), each in order of arrival. So a
 * workspace with one run waits for one run of each other workspace, however many they have (issue
 * 9.4).
 */

/** The least that a waiting run has. */
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
    const line = this.#runs.get(run.workspaceId);
    if (line === undefined) this.#runs.set(run.workspaceId, [run]);
    else line.push(run);
  }

  /** Puts runs back: they are next. */
  putFirst(runs: readonly Run[]): void {
    const all = new Map<number, Run[]>();
    for (const run of runs) {
      const line = all.get(run.workspaceId);
      if (line === undefined) all.set(run.workspaceId, [run]);
      else line.push(run);
    }
    for (const [workspaceId, line] of this.#runs) {
      all.set(workspaceId, [...(all.get(workspaceId) ?? []), ...line]);
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
   * @param mayTake called for the runs of a workspace until it returns true
   */
  takeOne(mayTake: (run: Run) => boolean): Run | null {
    for (const [workspaceId, line] of this.#runs) {
      const index = line.findIndex(mayTake);
      const run = line[index];
      if (run === undefined) continue;
      this.#remove(workspaceId, line, index);
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
      for (const [workspaceId, line] of [...this.#runs]) {
        const [run] = line;
        if (taken.length >= runsMax) return taken;
        if (run === undefined || !mayTake(workspaceId)) continue;
        if (taken.length > 0 && run.steps > room) continue;
        room -= run.steps;
        taken.push(run);
        this.#remove(workspaceId, line, 0);
        isOpen = true;
      }
    }
    return taken;
  }

  #remove(workspaceId: number, line: Run[], index: number): void {
    line.splice(index, 1);
    this.#size -= 1;
    this.#runs.delete(workspaceId);
    if (line.length > 0) this.#runs.set(workspaceId, line);
  }
}
