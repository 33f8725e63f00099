/**
 * Loaded into a server's process (`NODE_OPTIONS=--import=…`): its wall clock, and that of its
 * threads, is `CLOCK_SHIFT_MS` ahead of the machine's. PostgreSQL's is not.
 */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const RealDate = Date;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shiftMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + shiftMs;
  }
};
