// What pages do beyond what HTML does by itself: forms that stay on their page, lists that stay fresh.
// Everything works without it.

const PARSED = { json: (text) => JSON.parse(text) };
const SIGNED_OUT = 'You are signed out. Reload the page to sign in again.';

// ── Forms ────────────────────────────────────────────────────────────────────────────────────

/** The fields of a form as JSON, with the button that was pressed; empty ones are left out. */
function bodyOf(form, button) {
  const body = {};
  for (const field of form.elements) {
    if (field instanceof HTMLButtonElement && field !== button) continue;
    if (field.name === '' || field.value === '' || field.dataset.type === 'skip') continue;
    const parse = PARSED[field.dataset.type] ?? ((text) => text);
    body[field.name] = parse(field.value);
  }
  return body;
}

/** What is told of an answer that is not what was hoped for. */
function faultOf(response, answer) {
  const faults = (answer.errors ?? []).map(({ path, message }) => `${path} ${message}`);
  const told = [answer.detail ?? answer.title, ...faults].filter(Boolean).join(' ');
  return told === '' ? `The server answered ${response.status}.` : told;
}

async function send(form, button) {
  const [method, url] = form.dataset.api.split(' ');
  const init = { method, headers: { accept: 'application/json' } };
  if (method !== 'DELETE') {
    init.headers['content-type'] = 'application/json';
    init.body = JSON.stringify(bodyOf(form, button));
  }
  const response = await fetch(url, init);
  let answer = {};
  try {
    answer = JSON.parse(await response.text());
  } catch {
    // Not from this server but from something before it: its status says enough.
  }
  if (!response.ok) throw new Error(faultOf(response, answer));
  return answer;
}

/** Shows what is shown once, such as a new key, with a way to copy it. */
function show(form, text) {
  const output = form.querySelector('output');
  const secret = document.createElement('code');
  secret.className = 'secret';
  secret.textContent = text;
  const copy = document.createElement('button');
  copy.type = 'button';
  copy.className = 'quiet';
  copy.textContent = 'Copy';
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    } catch {
      window.getSelection()?.selectAllChildren(secret);
    }
  });
  output.replaceChildren(form.dataset.showLabel ?? '', secret, copy);
}

const FOCUS = 'sluice-focus';

/** The page is made anew; whoever works by the keyboard stays where they were. */
function reload(form, button) {
  const place = { path: location.pathname, action: form.action, value: button?.value ?? '' };
  sessionStorage.setItem(FOCUS, JSON.stringify(place));
  location.reload();
}

function focusAgain() {
  const text = sessionStorage.getItem(FOCUS);
  sessionStorage.removeItem(FOCUS);
  if (text === null) return;
  const { path, action, value } = JSON.parse(text);
  if (path !== location.pathname) return;
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
  if (alert !== null) alert.textContent = '';
  try {
    const answer = await send(form, button);
    if (form.dataset.show !== undefined) show(form, answer[form.dataset.show]);
    if (form.dataset.then === 'reload') reload(form, button);
    else if (form.dataset.then !== undefined) location.assign(form.dataset.then);
  } catch (error) {
    if (alert !== null) alert.textContent = error.message;
  } finally {
    sending.delete(form);
  }
}

for (const form of document.querySelectorAll('form[data-api]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit(form, event.submitter);
  });
}
focusAgain();

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
/** When a time came onto the page: it says how long ago it was then, by the server's clock. */
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
/** Between questions to a server that does not answer. */
const REFRESH_MS_MAX = 60_000;
/** A list that has grown to this many rows grows no more. */
const ROWS_MAX = 500;

/** Ends a list's life: nobody asks for it any more. */
class Ended extends Error {}

/** Puts rows that were not there where they belong. Rows that are there stay: focus, selection. */
function merge(body, rows) {
  const known = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const fresh = rows.filter((row) => !known.has(row.dataset.key));
  let below = null;
  for (const row of rows.toReversed()) {
    const before = known.get(row.dataset.key);
    if (before === undefined) {
      row.classList.add('fresh');
      body.insertBefore(row, below ?? (known.size > 0 ? body.rows[0] : null));
    }
    below = before ?? row;
  }
  const hasGap = known.size > 0 && rows.length > 0 && fresh.length === rows.length;
  return { fresh: fresh.length, hasGap };
}

/** Asks for rows beyond the newest one shown. @returns them as text; empty when there are none */
async function ask(table) {
  const url = new URL(table.dataset.live, location.href);
  const newest = table.tBodies[0].rows[0]?.dataset.key;
  if (newest !== undefined) url.searchParams.set('newest', newest);
  const response = await fetch(url, { redirect: 'manual', cache: 'no-store' });
  if (response.type === 'opaqueredirect' || [401, 403].includes(response.status)) {
    throw new Ended(SIGNED_OUT);
  }
  if (!response.ok) {
    const error = new Error(`status ${response.status}`);
    error.waitMs = Number(response.headers.get('retry-after') ?? 0) * 1000;
    throw error;
  }
  return await response.text();
}

function take(table, text, tell) {
  const template = document.createElement('template');
  template.innerHTML = `<table>${text}</table>`;
  const rows = [...template.content.querySelectorAll('tbody > tr')];
  if (rows.length === 0) return;
  const { fresh, hasGap } = merge(table.tBodies[0], rows);
  keepTimes(table);
  document.querySelector('[data-live-empty]')?.remove();
  table.closest('[hidden]')?.removeAttribute('hidden');
  if (fresh > 0) tell(fresh === 1 ? '1 new finding.' : `${fresh} new findings.`);
  if (hasGap || table.tBodies[0].rows.length >= ROWS_MAX) {
    throw new Ended('There are more new findings than fit here. Reload the page to see them all.');
  }
}

/** One question at a time, none while the page is hidden, fewer to a server in trouble. */
function keepFresh(table) {
  const status = document.querySelector('[data-live-status]');
  const tell = (text) => {
    if (status !== null && status.textContent !== text) status.textContent = text;
  };
  let waitMs = REFRESH_MS;
  let timer;
  let isAsking = false;
  let isEnded = false;
  const plan = (ms) => {
    clearTimeout(timer);
    if (!isEnded && !document.hidden) timer = setTimeout(turn, ms);
  };
  async function turn() {
    if (isAsking || isEnded) return;
    isAsking = true;
    try {
      const text = await ask(table);
      if (waitMs > REFRESH_MS) tell('');
      waitMs = REFRESH_MS;
      if (text !== '') take(table, text, tell);
    } catch (error) {
      isEnded = error instanceof Ended;
      waitMs = Math.min(Math.max(2 * waitMs, error.waitMs ?? 0), REFRESH_MS_MAX);
      tell(isEnded ? error.message : 'The server does not answer: this list may be old.');
    } finally {
      isAsking = false;
      plan(waitMs);
    }
  }
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) clearTimeout(timer);
    else plan(0);
  });
  plan(waitMs);
}

for (const table of document.querySelectorAll('table[data-live]')) keepFresh(table);

// ── Navigation ───────────────────────────────────────────────────────────────────────────────

// On a narrow screen the entries stand in one line that scrolls.
const entries = document.querySelector('.bar nav ul');
const current = entries?.querySelector('[aria-current]');
if (current) entries.scrollLeft = current.offsetLeft - entries.offsetLeft - 40;
