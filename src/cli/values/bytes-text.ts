/** Sizes as people read them. */
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;
const STEP = 1024;

/** `1.5 GiB`; whole numbers from ten on. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= STEP && unit < UNITS.length - 1) {
    value /= STEP;
    unit += 1;
  }
  const shown =
    value >= 10 || unit === 0 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
  return `${shown} ${UNITS[unit]}`;
}
