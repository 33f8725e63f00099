/**
 * Offers a list's records to the sink, which may take ordinary ones from their bytes, and keeps count
 * of its refusals: a record that the sink refuses is read twice, so after many it is offered fewer.
 */
import type { Scanner } from './scanner.ts';

/** What a sink took of a list by itself. */
export interface OrdinaryTaken {
  readonly rows: number;
  /** where it stopped: after a record */
  readonly at: number;
  /** objects and lists in the records */
  readonly structures: number;
  readonly hasTraced: boolean;
  readonly hasUntraced: boolean;
  /** whether the next record cannot be taken so */
  readonly isNextUnusual: boolean;
}

export interface OrdinarySink {
  /**
   * Takes ordinary records of the current list from their bytes.
   *
   * @param body valid UTF-8
   * @param at where a record is expected
   * @param until no record is taken after one that ends there or later
   * @param end no byte after it may be read
   * @param isHistogram of data points: whether they are those of a histogram
   * @returns null when it takes none; reused after the next call
   */
  takeOrdinary(
    body: Buffer,
    at: number,
    until: number,
    end: number,
    isHistogram?: boolean,
  ): OrdinaryTaken | null;
}

/**
 * After so many records in a row that the sink refused, it is no longer offered each one: after every
 * further refusal it is not offered the next 2, 4, 8, … records of the body.
 */
const REFUSALS_MAX = 4;
/** Most records that the sink is not offered after a refusal. */
const UNOFFERED_MAX = 64;

export class OrdinaryOffers {
  readonly #scanner: Scanner;
  /** whether the sink has refused the next record */
  #isUnusual = false;
  /** records in a row that the sink refused, also in the bodies before */
  #refusals = 0;
  /** records that it is not offered */
  #unoffered = 0;

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  /** Starts a body. */
  open(): void {
    this.#isUnusual = false;
    this.#unoffered = 0;
  }

  /**
   * Offers the record that comes next, and those after it; the scanner moves past what is taken.
   *
   * @param until as `takeOrdinary`
   * @returns null when the next record is not taken
   */
  offer(sink: OrdinarySink, until: number, isHistogram = false): OrdinaryTaken | null {
    const isUnusual = this.#isUnusual;
    this.#isUnusual = false;
    if (isUnusual) return null;
    if (this.#unoffered > 0) {
      this.#unoffered -= 1;
      return null;
    }
    const scanner = this.#scanner;
    const { body, at, view } = scanner;
    const taken = sink.takeOrdinary(body, at, until, view.byteLength, isHistogram);
    if (taken === null) {
      this.#refusals += 1;
      const unoffered = 2 ** (this.#refusals - REFUSALS_MAX);
      if (unoffered > 1) this.#unoffered = Math.min(unoffered, UNOFFERED_MAX);
      return null;
    }
    this.#refusals = 0;
    this.#isUnusual = taken.isNextUnusual;
    scanner.at = taken.at;
    scanner.noteStructures(taken.structures);
    return taken;
  }
}
