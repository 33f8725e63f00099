/**
 * The frame of a chart: a small SVG file without scripts, for light and dark backgrounds (by the
 * reader's setting), for screen readers (title and description), and for any Markdown renderer.
 * Pure.
 */

/** Number of series colours; each contrasts with both backgrounds and with its neighbours. */
export const SERIES_MAX = 4;

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** the figures in words, for screen readers */
  readonly description: string;
}

const STYLE = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1d2327; }
  .title { font-size: 15px; font-weight: 600; }
  .soft { fill: #5a646b; }
  .value { font-variant-numeric: tabular-nums; }
  .ground { fill: #ffffff; }
  .axis { stroke: #c5ccd1; stroke-width: 1; }
  .grid { stroke: #e5e9eb; stroke-width: 1; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .s0 { fill: #0b6e75; } .s1 { fill: #b8430a; } .s2 { fill: #7a5b00; } .s3 { fill: #48566a; }
  .l0 { stroke: #0b6e75; } .l1 { stroke: #b8430a; } .l2 { stroke: #7a5b00; } .l3 { stroke: #48566a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6eaec; }
    .soft { fill: #9aa6ad; }
    .ground { fill: #1b2125; }
    .axis { stroke: #4a555c; }
    .grid { stroke: #2f373c; }
    .s0 { fill: #5fc3ca; } .s1 { fill: #ffa06b; } .s2 { fill: #e6c35a; } .s3 { fill: #a9b8cc; }
    .l0 { stroke: #5fc3ca; } .l1 { stroke: #ffa06b; } .l2 { stroke: #e6c35a; } .l3 { stroke: #a9b8cc; }
  }`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}

/** A coordinate: one decimal is finer than a pixel. */
export function at(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export interface TextOptions {
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly className?: string;
}

export function textAt(
  x: number,
  y: number,
  content: string,
  { anchor = 'start', className }: TextOptions = {},
): string {
  const kind = className === undefined ? '' : ` class="${className}"`;
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}"${kind}>${escapeXml(content)}</text>`;
}

/** Squares with the names of the series, in a row that begins at x. */
export function legend(x: number, y: number, names: readonly string[]): string[] {
  let left = x;
  return names.flatMap((name, index) => {
    const place = left;
    left += 30 + name.length * 7;
    return [
      `<rect class="s${index}" x="${at(place)}" y="${at(y - 10)}" width="11" height="11" rx="2"/>`,
      textAt(place + 16, y, name, { className: 'soft' }),
    ];
  });
}

/**
 * The least round number that is not below `value` (1, 2, 2.5 or 5 times a power of ten), where an
 * axis can end.
 */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

export function svgFile({ width, height, title, description }: Frame, elements: string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
      `height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="description">${escapeXml(description)}</desc>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${width}" height="${height}" rx="6"/>`,
    textAt(20, 28, title, { className: 'title' }),
    ...elements,
    '</svg>',
    '',
  ].join('\n');
}
