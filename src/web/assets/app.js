// What pages do beyond what HTML does by itself: forms that speak to /app/api, lists that stay fresh.
// Reading and signing in work without it.

const TYPES = { json: (text) => JSON.parse(text) };

/** The fields of a form as JSON; empty ones are left out. */
function bodyOf(form) {
  const body = {};
  for (const field of form.elements) {
    if (field.name === '' || field.value === '') continue;
    const read = TYPES[field.dataset.type] ?? ((text) => text);
    body[field.name] = field.type === 'checkbox' ? field.checked : read(field.value);
  }
  return body;
}

async function send(form) {
  const [method, url] = form.dataset.api.split(' ');
  const init = { method, headers: { accept: 'application/json' } };
  if (method !== 'DELETE') {
    init.headers['content-type'] = 'application/json';
    init.body = JSON.stringify(bodyOf(form));
  }
  const response = await fetch(url, init);
  const text = await response.text();
  const answer = text === '' ? {} : JSON.parse(text);
  if (response.ok) return answer;
  const faults = (answer.errors ?? []).map(({ path, message }) => `${path}: ${message}`);
  throw new Error([answer.detail ?? answer.title, ...faults].join(' '));
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
  copy.addEventListener('click', () => navigator.clipboard.writeText(text));
  output.replaceChildren(form.dataset.showLabel ?? '', secret, copy);
}

async function submit(form) {
  const alert = form.querySelector('[role=alert]');
  if (form.dataset.confirm !== undefined && !window.confirm(form.dataset.confirm)) return;
  if (alert !== null) alert.textContent = '';
  try {
    const answer = await send(form);
    if (form.dataset.show !== undefined) show(form, answer[form.dataset.show]);
    if (form.dataset.then === 'reload') window.location.reload();
    else if (form.dataset.then !== undefined) window.location.assign(form.dataset.then);
  } catch (error) {
    if (alert !== null) alert.textContent = error.message;
  }
}

for (const form of document.querySelectorAll('form[data-api]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit(form);
  });
  if (form.dataset.onChange !== undefined) form.addEventListener('change', () => void submit(form));
}

const REFRESH_MS = 5000;

/** Rows that were not there before are marked for a moment. */
async function refresh(table) {
  if (document.hidden) return;
  const response = await fetch(table.dataset.live);
  if (!response.ok || response.redirected) return;
  const fragment = document.createElement('template');
  fragment.innerHTML = `<table>${await response.text()}</table>`;
  const fresh = fragment.content.querySelector('tbody');
  const old = table.querySelector('tbody');
  if (fresh === null || old.contains(document.activeElement)) return;
  const known = new Set([...old.rows].map((row) => row.dataset.key));
  for (const row of fresh.rows) if (!known.has(row.dataset.key)) row.classList.add('fresh');
  old.replaceWith(fresh);
}

for (const table of document.querySelectorAll('table[data-live]')) {
  setInterval(async () => {
    try {
      await refresh(table);
      table.removeAttribute('aria-busy');
    } catch {
      // The server cannot be reached: tried again at the next turn, and told meanwhile.
      table.setAttribute('aria-busy', 'true');
    }
  }, REFRESH_MS);
}
