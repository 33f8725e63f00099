// The pages work without this script. It sends forms without leaving the page, and refreshes lists.

const SIGN_IN_PATH = '/app/sign-in';
const SIGNED_OUT = 'You are signed out. Reload the page to sign in again.';

// ── Keys ─────────────────────────────────────────────────────────────────────────────────────

const TYPED = 'input:not([type=checkbox]), select, textarea, [contenteditable]';
/** Characters that some keyboards have behind Shift. */
const SHIFTED = ['/', '?'];

/** Checks whether a key is meant for the page: no modifier is held, and no text is typed. */
// biome-ignore lint/correctness/noUnusedVariables: run.js and inbox.js use it
function isShortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return false;
  if (event.shiftKey && !SHIFTED.includes(event.key)) return false;
  return event.target.closest(TYPED) === null;
}

// ── Forms ────────────────────────────────────────────────────────────────────────────────────

const textOf = (element) => element?.textContent.replaceAll(/\s+/g, ' ').trim();

/**
 * Sends a form as the browser would and reads the page that answers.
 * @returns the page, and its address
 * @throws {Error} with what the page says, if it is an error
 */
async function send(form, button) {
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  const response = await fetch(form.action, { method: 'POST', body });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  // A proxy's error has no such element: then the status says enough.
  const refusal = textOf(page.querySelector('.refusal'));
  if (!response.ok) throw new Error(refusal ?? `The server answered ${response.status}.`);
  if (new URL(response.url).pathname === SIGN_IN_PATH) throw new Error(SIGNED_OUT);
  return { page, url: response.url };
}

/** Makes a button that copies an element's text, or selects it where copying is forbidden. */
function copyButton(element) {
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.className = 'quiet';
  copy.textContent = 'Copy';
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(element.textContent);
      copy.textContent = 'Copied';
    } catch {
      window.getSelection()?.selectAllChildren(element);
    }
  });
  return copy;
}

/** Shows what is shown once, such as a new key, with a button that copies it. */
function showSecret(form, page, text) {
  const secret = document.createElement('code');
  secret.className = 'secret';
  secret.textContent = text;
  const lead = textOf(page.querySelector('.lead')) ?? '';
  form.querySelector('output').replaceChildren(lead, secret, copyButton(secret));
}

/** Shows how to send with a new key, below the form. */
function showGuides(form, page) {
  const guides = page.querySelector('[data-connect]');
  document.querySelector('[data-connect]')?.remove();
  if (guides === null) return;
  form.closest('section').after(document.adoptNode(guides));
  keepLooking();
}

/** Replaces the lists that a write has changed, without a reload: the secret stays on the page. */
async function refreshLists() {
  const response = await fetch(location.href, { cache: 'no-store' });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  for (const list of document.querySelectorAll('[data-fresh]')) {
    const fresh = page.querySelector(`[data-fresh="${list.dataset.fresh}"]`);
    if (fresh === null) continue;
    list.replaceWith(fresh);
    keepTimes(fresh);
  }
}

const FOCUS = 'sluice-focus';

/** The lines of a list from the first selected one on, then those above it: one of them remains. */
function linesFrom(form) {
  const lines = [...form.querySelectorAll('tr[data-key]')];
  const first = lines.findIndex((line) => line.querySelector('input:checked') !== null);
  const nearest = [...lines.slice(first), ...lines.slice(0, first).toReversed()];
  return first === -1 ? [] : nearest.map((line) => line.dataset.key);
}

/**
 * Reloads the page; the button that was pressed, or the line that was changed, has the focus again.
 * @param done what was changed
 */
function reload(form, button, done) {
  const lines = linesFrom(form);
  const { pathname: path } = location;
  const pressed = { path, action: form.action, value: button?.value ?? '', lines, done };
  sessionStorage.setItem(FOCUS, JSON.stringify(pressed));
  // A fragment (#main) would take the focus again once the page is loaded.
  history.replaceState(null, '', location.pathname + location.search);
  location.reload();
}

function restoreFocus() {
  const text = sessionStorage.getItem(FOCUS);
  sessionStorage.removeItem(FOCUS);
  if (text === null) return;
  const { path, action, value, lines, done } = JSON.parse(text);
  if (path !== location.pathname) return;
  const status = document.querySelector('[data-done]');
  if (done && status !== null) status.textContent = done;
  const keys = lines.map((key) => document.querySelector(`tr[data-key="${key}"]`));
  const line = keys.find((one) => one !== null);
  if (line !== undefined) {
    line.querySelector('[data-open]')?.focus({ preventScroll: true });
    line.scrollIntoView({ block: 'nearest' });
    return;
  }
  const form = [...document.forms].find((one) => one.action === action);
  const buttons = [...(form?.querySelectorAll('button') ?? [])];
  const button = buttons.find((one) => one.value === value) ?? buttons[0];
  button?.focus({ preventScroll: true });
}

const sending = new WeakSet();

async function submit(form, button) {
  if (sending.has(form)) return;
  sending.add(form);
  const alert = form.querySelector('[role=alert]');
  alert.textContent = '';
  try {
    const { page, url } = await send(form, button);
    const secret = textOf(page.querySelector('.secret'));
    if (button?.dataset.go !== undefined) location.assign(url);
    else if (secret === undefined) reload(form, button, textOf(page.querySelector('[data-done]')));
    else {
      showSecret(form, page, secret);
      showGuides(form, page);
      await refreshLists();
    }
  } catch (error) {
    alert.textContent = error.message;
  } finally {
    sending.delete(form);
  }
}

document.addEventListener('submit', (event) => {
  if (event.target.dataset.stay === undefined) return;
  event.preventDefault();
  void submit(event.target, event.submitter);
});
restoreFocus();

// ── Times ────────────────────────────────────────────────────────────────────────────────────

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

function ago(seconds) {
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}

const TIMES_MS = 30_000;
/** When an element came onto the page; its `data-ago` was right then, by the server's clock. */
const shownAt = new WeakMap();
const pageMs = () => document.timeline.currentTime ?? 0;

function keepTimes(within) {
  for (const time of within.querySelectorAll('time[data-ago]')) {
    if (!shownAt.has(time)) shownAt.set(time, pageMs());
  }
}

keepTimes(document);
setInterval(() => {
  if (document.hidden) return;
  for (const time of document.querySelectorAll('time[data-ago]')) {
    const shownMs = pageMs() - (shownAt.get(time) ?? pageMs());
    const text = ago(Number(time.dataset.ago) + shownMs / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
}, TIMES_MS);

// ── Lists that stay fresh ────────────────────────────────────────────────────────────────────

const REFRESH_MS = 5_000;
/** The longest pause between requests to a server that does not answer. */
const REFRESH_MS_MAX = 60_000;
/** A list of this many rows is refreshed no more. */
const ROWS_MAX = 500;

/** The list is not refreshed any more; the message says why. */
class RefreshEnded extends Error {}

/** Inserts new rows in their order. Existing rows are left alone, with their focus and selection. */
function merge(body, rows) {
  const known = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const fresh = rows.filter((row) => !known.has(row.dataset.key));
  let below = null;
  for (const row of rows.toReversed()) {
    const existing = known.get(row.dataset.key);
    if (existing === undefined) {
      row.classList.add('fresh');
      body.insertBefore(row, below ?? (known.size > 0 ? body.rows[0] : null));
    }
    below = existing ?? row;
  }
  const hasGap = known.size > 0 && rows.length > 0 && fresh.length === rows.length;
  return { fresh: fresh.length, hasGap };
}

/** @returns the newest rows as HTML; empty when none is newer than the newest one shown */
async function fetchRows(table) {
  const url = new URL(table.dataset.live, location.href);
  const newest = table.tBodies[0].rows[0]?.dataset.key;
  if (newest !== undefined) url.searchParams.set('newest', newest);
  const response = await fetch(url, { redirect: 'manual', cache: 'no-store' });
  if (response.type === 'opaqueredirect' || [401, 403].includes(response.status)) {
    throw new RefreshEnded(SIGNED_OUT);
  }
  if (!response.ok) {
    const error = new Error(`status ${response.status}`);
    error.waitMs = Number(response.headers.get('retry-after') ?? 0) * 1000;
    throw error;
  }
  return await response.text();
}

function addRows(table, text, announce) {
  const template = document.createElement('template');
  template.innerHTML = `<table>${text}</table>`;
  const rows = [...template.content.querySelectorAll('tbody > tr')];
  if (rows.length === 0) return;
  const { fresh, hasGap } = merge(table.tBodies[0], rows);
  keepTimes(table);
  document.querySelector('[data-live-empty]')?.remove();
  table.closest('[hidden]')?.removeAttribute('hidden');
  if (fresh > 0) announce(fresh === 1 ? '1 new finding.' : `${fresh} new findings.`);
  if (hasGap || table.tBodies[0].rows.length >= ROWS_MAX) {
    throw new RefreshEnded(
      'There are more new findings than fit here. Reload the page to see them all.',
    );
  }
}

/** One request at a time, none while the page is hidden, fewer to a server in trouble. */
function keepFresh(table) {
  const status = document.querySelector('[data-live-status]');
  const announce = (text) => {
    if (status !== null && status.textContent !== text) status.textContent = text;
  };
  let waitMs = REFRESH_MS;
  let timer;
  let isRefreshing = false;
  let isEnded = false;
  const schedule = (ms) => {
    clearTimeout(timer);
    if (!isEnded && !document.hidden) timer = setTimeout(refresh, ms);
  };
  async function refresh() {
    if (isRefreshing) return;
    isRefreshing = true;
    try {
      const text = await fetchRows(table);
      if (waitMs > REFRESH_MS) announce('');
      waitMs = REFRESH_MS;
      if (text !== '') addRows(table, text, announce);
    } catch (error) {
      isEnded = error instanceof RefreshEnded;
      waitMs = Math.min(Math.max(2 * waitMs, error.waitMs ?? 0), REFRESH_MS_MAX);
      announce(isEnded ? error.message : 'The server does not answer: this list may be old.');
    } finally {
      isRefreshing = false;
      schedule(waitMs);
    }
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else schedule(0);
  });
  schedule(waitMs);
}

for (const table of document.querySelectorAll('table[data-live]')) keepFresh(table);

// ── Progress ─────────────────────────────────────────────────────────────────────────────────

const POLL_MS = 2_000;

/** Renews a part of the page until it says that it will not change any more. */
function keepPolling() {
  setTimeout(async () => {
    // A list that cannot be read now is read with the next turn.
    if (!document.hidden) await refreshLists().catch(() => {});
    if (document.querySelector('[data-poll]') !== null) keepPolling();
  }, POLL_MS);
}

if (document.querySelector('[data-poll]') !== null) keepPolling();

/** Most looks for a first span: a quarter of an hour. */
const LOOKS_MAX = 450;

/** Reads the status again until a run has arrived. The page with the key is not read again. */
function keepLooking(looks = 0) {
  const panel = document.querySelector('[data-arrival]');
  const path = panel?.dataset.arrival;
  if (!path) return;
  if (looks >= LOOKS_MAX) {
    panel.querySelector('[data-arrival-status]').textContent = 'No span has arrived yet.';
    return;
  }
  setTimeout(async () => {
    try {
      const response = document.hidden ? null : await fetch(path, { cache: 'no-store' });
      if (response?.ok) {
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        const fresh = page.querySelector('[data-arrival]');
        if (fresh !== null && fresh.innerHTML !== panel.innerHTML) {
          panel.replaceWith(document.adoptNode(fresh));
          keepTimes(fresh);
        }
      }
    } catch {
      // The next turn looks again.
    }
    keepLooking(document.hidden ? looks : looks + 1);
  }, POLL_MS);
}

keepLooking();

// ── Navigation ───────────────────────────────────────────────────────────────────────────────

// On a narrow screen the entries are one line that scrolls.
const entries = document.querySelector('.bar nav ul');
const current = entries?.querySelector('[aria-current]');
if (current) entries.scrollLeft = current.offsetLeft - entries.offsetLeft - 40;

// ── Documentation ────────────────────────────────────────────────────────────────────────────

for (const block of document.querySelectorAll('.prose pre')) {
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  frame.append(block, copyButton(block.firstElementChild ?? block));
}
