/** Owns where literals stand in a text, as they are found. */

/** Room for hits; it doubles when it is used up. */
const HITS_AT_FIRST = 256;

/** Per literal its places in order, as chains; and all of them in the order they came. Used again and again. */
export class Hits {
  /** literal id → first hit, -1 for none */
  readonly first: Int32Array;
  readonly #last: Int32Array;
  /** hit → offset of the literal's first byte */
  places = new Int32Array(HITS_AT_FIRST);
  /** hit → offset behind it: of what stands there, past all white space of a run that it ends with */
  ends = new Int32Array(HITS_AT_FIRST);
  /** hit → literal id */
  literalOf = new Int32Array(HITS_AT_FIRST);
  /** hit → the literal's next hit, -1 at the end */
  following = new Int32Array(HITS_AT_FIRST);
  /** the literals that were hit, each once */
  readonly literals: number[] = [];
  #count = 0;

  constructor(literals: number) {
    this.first = new Int32Array(literals).fill(-1);
    this.#last = new Int32Array(literals).fill(-1);
  }

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  clear(): void {
    for (const literal of this.literals) {
      this.first[literal] = -1;
      this.#last[literal] = -1;
    }
    this.literals.length = 0;
    this.#count = 0;
  }

  /** @param place not before that of the same literal's last hit */
  add(literal: number, place: number, end: number): void {
    const hit = this.#count;
    this.#count += 1;
    if (hit === this.places.length) this.#grow();
    this.places[hit] = place;
    this.ends[hit] = end;
    this.literalOf[hit] = literal;
    this.following[hit] = -1;
    const last = this.#last[literal] ?? -1;
    if (last === -1) {
      this.first[literal] = hit;
      this.literals.push(literal);
    } else {
      this.following[last] = hit;
    }
    this.#last[literal] = hit;
  }

  #grow(): void {
    this.places = doubled(this.places);
    this.ends = doubled(this.ends);
    this.literalOf = doubled(this.literalOf);
    this.following = doubled(this.following);
  }
}

function doubled(table: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(table.length * 2);
  larger.set(table);
  return larger;
}
