/** The shell of every page: head, header, main, footer. Dashboard and documentation share it. */
import { type Html, type HtmlValue, html } from './html.ts';

export interface AssetPaths {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
}

interface NavigationEntry {
  readonly href: string;
  readonly label: string;
  readonly isCurrent: boolean;
}

interface Shell {
  readonly title: string;
  readonly brand: string;
  readonly assets: AssetPaths;
  readonly navigation: readonly NavigationEntry[];
  /** who is signed in, and how to leave; at the right end of the bar */
  readonly aside?: HtmlValue;
  /** more for the head: canonical address, alternates, data */
  readonly head?: HtmlValue;
  /** uses the whole width of a large screen */
  readonly isWide?: boolean;
  readonly main: HtmlValue;
}

export function page(shell: Shell): Html {
  const { title, brand, assets, navigation, aside, head, main, isWide = false } = shell;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${brand}</title>
<link rel="stylesheet" href="${assets.style}">
<link rel="icon" type="image/svg+xml" href="${assets.icon}">
${head}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
<a class="brand" href="/">${brand}</a>
<nav aria-label="Main"><ul>${navigation.map(entry)}</ul></nav>
${aside !== undefined && html`<div class="aside">${aside}</div>`}
</header>
<main id="main" tabindex="-1"${isWide && html` class="wide"`}>
${main}
</main>
<script src="${assets.script}" defer></script>
</body>
</html>
`;
}

function entry({ href, label, isCurrent }: NavigationEntry): Html {
  return isCurrent
    ? html`<li><a href="${href}" aria-current="page">${label}</a></li>`
    : html`<li><a href="${href}">${label}</a></li>`;
}
