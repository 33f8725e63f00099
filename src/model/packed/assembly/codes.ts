/**
 * Numbers that the splitter and the readers of its texts share. Also plain TypeScript, unlike the other files of this
 * folder.
 */

/** Least bytes of a string that is taken out of the attributes. */
export const DOCUMENT_BYTES_MIN = 48;
/** Least bytes of a repeat. */
export const REPEAT_BYTES_MIN = 48;

// Regions of memory.
/** the text to split */
export const TEXT = 0;
export const NARROW = 1;
export const NARROW_HOLES = 2;
export const ATTRIBUTES = 3;
export const ATTRIBUTE_HOLES = 4;
export const REPEATS = 5;
/** all documents */
export const STREAM = 6;
/** the documents without what they repeat */
export const LITERALS = 7;
/** groups of three bytes; at the end, their hashes */
export const GROUPS = 8;
export const REGIONS = 9;
/** `GROUPS` has so many bytes for each byte of another region: at most two groups, of four bytes each. */
export const GROUPS_PART = 8;
