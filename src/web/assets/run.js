// A run's page: steps open beside the tree without a reload, by click and by keyboard.
{
  const PANE = '[data-pane]';
  const STEPS = '[data-steps]';
  const ROW_ID = 'row';
  const treeOf = () => document.querySelector('[data-tree]');
  const rowsOf = () => [...(treeOf()?.querySelectorAll('.rows li') ?? [])];
  const linkOf = (row) => row.querySelector('a');
  const depthOf = (row) => Number(row.dataset.depth);
  const isGap = (row) => row.classList.contains('gap');

  // ── Folding ──────────────────────────────────────────────────────────────────────────────────

  const isFolded = (row) =>
    row.querySelector('button.fold')?.getAttribute('aria-expanded') === 'false';

  /** Rows below a folded row are hidden. */
  function layOut() {
    let hiddenBelow = Infinity;
    for (const row of rowsOf()) {
      if (depthOf(row) <= hiddenBelow) hiddenBelow = Infinity;
      row.hidden = hiddenBelow !== Infinity;
      if (!row.hidden && isFolded(row)) hiddenBelow = depthOf(row);
    }
  }

  function setFolded(row, folded) {
    const button = row.querySelector('button.fold');
    if (button === null) return;
    button.setAttribute('aria-expanded', String(!folded));
    button.textContent = folded ? '▸' : '▾';
  }

  function addFolds() {
    const rows = rowsOf();
    rows.forEach((row, at) => {
      const below = rows[at + 1];
      if (below === undefined || depthOf(below) <= depthOf(row) || isGap(row)) return;
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'fold';
      button.tabIndex = -1;
      button.setAttribute('aria-label', `Steps below ${row.querySelector('.name').textContent}`);
      row.prepend(button);
      setFolded(row, false);
      button.addEventListener('click', () => {
        setFolded(row, !isFolded(row));
        layOut();
      });
    });
  }

  function foldAll(folded) {
    for (const row of rowsOf()) setFolded(row, folded);
    layOut();
  }

  // ── Copying ──────────────────────────────────────────────────────────────────────────────────

  /** Time for which a button says *Copied*. */
  const COPIED_MS = 2_000;

  async function copy(button, text) {
    const label = button.dataset.named ?? button.textContent;
    button.dataset.named = label;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Could not copy';
    }
    setTimeout(() => {
      button.textContent = label;
    }, COPIED_MS);
  }

  function smallButton(label, onClick) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'quiet small';
    button.textContent = label;
    button.addEventListener('click', () => onClick(button));
    return button;
  }

  function addTools(within) {
    for (const text of within.querySelectorAll('details > pre')) {
      const tools = document.createElement('div');
      tools.className = 'tools';
      tools.append(smallButton('Copy', (button) => copy(button, text.textContent)));
      text.before(tools);
    }
    const pane = within.closest(PANE) ?? within.querySelector(PANE);
    // Beside one step its own texts, in the list of texts those of all its steps.
    const folded = pane ?? within.querySelector('ol.steps');
    const folds = () => [...folded.querySelectorAll('details')];
    if (folded === null || folds().length === 0) return;
    const ways = (pane ?? within).querySelector(pane === null ? '.views' : '.ways');
    ways?.append(
      smallButton('Expand all', (button) => {
        const isOpen = folds().every((one) => one.open);
        for (const one of folds()) one.open = !isOpen;
        button.textContent = isOpen ? 'Expand all' : 'Collapse all';
      }),
    );
  }

  // ── Opening steps ────────────────────────────────────────────────────────────────────────────

  const isOfRun = (url) => url.pathname === location.pathname && url.origin === location.origin;

  function markCurrent(number) {
    for (const row of rowsOf()) {
      const link = linkOf(row);
      if (link.dataset.step === number) {
        link.setAttribute('aria-current', 'true');
        row.id = ROW_ID;
        if (row.hidden) foldAll(false);
        link.scrollIntoView({ block: 'nearest' });
      } else {
        link.removeAttribute('aria-current');
        row.removeAttribute('id');
      }
    }
  }

  let requests = 0;

  /**
   * Shows the step of an address.
   * @param isNew adds it to the browser's history @param isOpened renews the tree, too
   */
  async function show(url, isNew, isOpened = false) {
    requests += 1;
    const own = requests;
    const response = await fetch(url, { headers: { accept: 'text/html' } });
    if (!response.ok || !isOfRun(new URL(response.url))) throw new Error('another page');
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (own !== requests) return;
    const pane = page.querySelector(PANE);
    if (pane === null) throw new Error('no step');
    const number = pane.id.replace('step-', '');
    const isListed = !isOpened && rowsOf().some((row) => linkOf(row).dataset.step === number);
    if (isNew) history.pushState(null, '', url);
    if (isListed) {
      document.querySelector(PANE).replaceWith(pane);
      addTools(pane);
    } else {
      const steps = page.querySelector(STEPS);
      document.querySelector(STEPS).replaceWith(steps);
      prepare(steps);
    }
    markCurrent(number);
    document.dispatchEvent(
      new CustomEvent('sluice:shown', { detail: document.querySelector(PANE) }),
    );
    const found = document.getElementById(new URL(url, location.href).hash.slice(1));
    if (found !== null && found !== document.querySelector(PANE)) {
      found.scrollIntoView({ block: 'center' });
    } else if (document.querySelector(PANE).getBoundingClientRect().top < 0) {
      document.querySelector(PANE).scrollIntoView();
    }
  }

  function open(url, isOpened = false) {
    show(url, true, isOpened).catch(() => location.assign(url));
  }

  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (link === null || link === undefined || event.defaultPrevented) return;
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    if (link.dataset.copyLink !== undefined) {
      event.preventDefault();
      void copy(link, link.href);
      return;
    }
    const url = new URL(link.href);
    const isStep = url.searchParams.has('step') || url.searchParams.has('finding');
    if (document.querySelector(PANE) === null || !isOfRun(url) || !isStep) return;
    event.preventDefault();
    open(link.href, link.dataset.open !== undefined);
  });

  window.addEventListener('popstate', () => {
    if (document.querySelector(PANE) === null) return;
    show(location.href, false).catch(() => location.reload());
  });

  // ── Keyboard ─────────────────────────────────────────────────────────────────────────────────

  function move(by) {
    const rows = rowsOf().filter((row) => !row.hidden);
    const at = rows.findIndex((row) => linkOf(row).hasAttribute('aria-current'));
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
    if (next === undefined || next === rows[at]) return;
    const link = linkOf(next);
    if (link.dataset.step !== undefined) markCurrent(link.dataset.step);
    link.focus({ preventScroll: true });
    open(link.href);
  }

  function fold(folded) {
    const row = rowsOf().find((one) => linkOf(one).hasAttribute('aria-current'));
    if (row === undefined) return;
    setFolded(row, folded);
    layOut();
  }

  const follow = (key) => document.querySelector(`${PANE} [data-key="${key}"]`)?.click();

  const KEYS = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    j: () => move(1),
    k: () => move(-1),
    ArrowLeft: () => fold(true),
    ArrowRight: () => fold(false),
    n: () => follow('n'),
    p: () => follow('p'),
    e: () => {
      for (const one of document.querySelectorAll(`${PANE} details`)) one.open = true;
    },
    '/': () => document.querySelector('input[name=q]')?.focus(),
  };

  document.addEventListener('keydown', (event) => {
    const action = KEYS[event.key];
    if (action === undefined || treeOf() === null) return;
    if (!isShortcut(event) || document.querySelector('dialog[open]') !== null) return;
    if (event.target.closest('button, summary, pre')) return;
    // Arrows scroll everything but the tree.
    if (event.key.startsWith('Arrow') && event.target.closest('[data-tree]') === null) return;
    event.preventDefault();
    action();
  });

  // ── The page ─────────────────────────────────────────────────────────────────────────────────

  function prepare(steps) {
    addFolds();
    addTools(steps);
    for (const help of steps.querySelectorAll('[data-script]')) help.hidden = false;
    for (const button of steps.querySelectorAll('[data-fold-all]')) {
      button.addEventListener('click', () => {
        const isOpen = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(isOpen));
        foldAll(isOpen);
      });
    }
  }

  /** Brings the row of the shown step into view in the tree; the address leads to its match beside it. */
  function showRow() {
    const row = document.getElementById(ROW_ID);
    const tree = treeOf();
    if (row === null || tree === null) return;
    tree.scrollTop = row.offsetTop - tree.clientHeight / 2;
  }

  const steps = document.querySelector(STEPS);
  if (steps !== null) {
    prepare(steps);
    showRow();
  }
}
