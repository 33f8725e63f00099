// Lists with a keyboard, and which of their lines are selected. A finding: keys for what its page offers.

// A list with `data-keys`: j and k move, Enter follows the link that has the focus, / searches.
const listed = document.querySelector('table[data-keys]');
const keysDialog = document.querySelector('dialog[data-keys-help]');
const opensOf = () => [...(listed?.querySelectorAll('[data-open]') ?? [])];

function moveBy(step) {
  const links = opensOf();
  const row = document.activeElement?.closest('tr') ?? listed?.querySelector('tr:target');
  const from = links.findIndex((link) => link.closest('tr') === row);
  const next = from === -1 ? 0 : Math.min(Math.max(from + step, 0), links.length - 1);
  links[next]?.focus();
  links[next]?.closest('tr').scrollIntoView({ block: 'nearest' });
}

const boxesOf = () => [...(listed?.querySelectorAll('tbody input[type=checkbox]') ?? [])];
const currentBox = () =>
  document.activeElement?.closest('tr')?.querySelector('input[type=checkbox]');

/** The lines that a key changes: the selected ones, else the one that has the focus. */
function selectCurrent() {
  const box = currentBox();
  if (box && !boxesOf().some((one) => one.checked)) box.click();
}

const ON_KEY = {
  j: () => moveBy(1),
  k: () => moveBy(-1),
  o: () => document.activeElement?.closest('tr')?.querySelector('[data-open]')?.click(),
  x: () => currentBox()?.click(),
  s: () => {
    selectCurrent();
    document.querySelector('.bulk select')?.focus();
  },
  a: () => {
    selectCurrent();
    if (boxesOf().some((one) => one.checked))
      document.querySelector('.bulk [name=assign]')?.click();
  },
  '/': () => document.querySelector('input[type=search]')?.focus(),
};

/** Returns the action of a key. On the page of a finding, links, buttons and fields name their keys. */
function actOf(key) {
  if (listed !== null) return ON_KEY[key];
  const own = [...document.querySelectorAll('[data-on-key]')].find((a) => a.dataset.onKey === key);
  if (own === undefined) return undefined;
  return () => (own.matches('select, textarea') ? own.focus() : own.click());
}

if (listed !== null || document.querySelector('[data-on-key]') !== null) {
  document.addEventListener('keydown', (event) => {
    if (!isShortcut(event) || keysDialog?.open) return;
    const act = actOf(event.key);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

const selected = document.querySelector('[data-selected]');
const allBox = document.querySelector('[data-all] input');
allBox?.parentElement.removeAttribute('hidden');
allBox?.addEventListener('change', () => {
  for (const box of boxesOf()) box.checked = allBox.checked;
  listed?.dispatchEvent(new Event('change'));
});
listed?.addEventListener('change', () => {
  const boxes = boxesOf();
  const { length } = boxes.filter((box) => box.checked);
  if (allBox !== null) {
    allBox.checked = length > 0 && length === boxes.length;
    allBox.indeterminate = length > 0 && length < boxes.length;
  }
  const done = document.querySelector('[data-done]');
  if (done !== null) done.textContent = '';
  if (selected !== null) selected.textContent = length === 0 ? '' : `${length} selected`;
});

// ── The keys, as a dialog ────────────────────────────────────────────────────────────────────

for (const button of document.querySelectorAll('[data-keys-open]')) {
  button.removeAttribute('hidden');
  button.addEventListener('click', () => keysDialog?.showModal());
}
document.addEventListener('keydown', (event) => {
  if (event.key !== '?' || keysDialog === null || !isShortcut(event)) return;
  event.preventDefault();
  if (keysDialog.open) keysDialog.close();
  else keysDialog.showModal();
});
