// The findings list: its keyboard, and how many lines are selected. A finding: the keys of its neighbours.

// A list with `data-keys`: j and k move, Enter follows the link that has the focus, / searches.
const listed = document.querySelector('table[data-keys]');
const keysHelp = document.querySelector('[data-keys-help]');
const opensOf = () => [...(listed?.querySelectorAll('[data-open]') ?? [])];
/** Whether keys are typed into something. */
const isTyped = (element) =>
  element.closest('input:not([type=checkbox]), select, textarea, [contenteditable]') !== null;

function moveBy(step) {
  const links = opensOf();
  const row = document.activeElement?.closest('tr') ?? listed?.querySelector('tr:target');
  const from = links.findIndex((link) => link.closest('tr') === row);
  const next = from === -1 ? 0 : Math.min(Math.max(from + step, 0), links.length - 1);
  links[next]?.focus();
  links[next]?.closest('tr').scrollIntoView({ block: 'nearest' });
}

const ON_KEY = {
  j: () => moveBy(1),
  k: () => moveBy(-1),
  o: () => document.activeElement?.closest('tr')?.querySelector('[data-open]')?.click(),
  x: () => document.activeElement?.closest('tr')?.querySelector('input[type=checkbox]')?.click(),
  s: () => document.querySelector('.bulk select')?.focus(),
  a: () => {
    if (listed?.querySelector('input:checked'))
      document.querySelector('.bulk [name=assign]')?.click();
  },
  '/': () => document.querySelector('input[type=search]')?.focus(),
  '?': () => {
    if (keysHelp !== null) keysHelp.open = !keysHelp.open;
  },
};

/** What a key does: on the list, or on the page of a finding, whose links name theirs. */
function actOf(key) {
  if (listed !== null) return ON_KEY[key];
  const link = [...document.querySelectorAll('[data-on-key]')].find((a) => a.dataset.onKey === key);
  return link && (() => link.click());
}

if (listed !== null || document.querySelector('[data-on-key]') !== null) {
  keysHelp?.removeAttribute('hidden');
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyped(event.target)) return;
    const act = actOf(event.key);
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

const selected = document.querySelector('[data-selected]');
listed?.addEventListener('change', () => {
  const { length } = listed.querySelectorAll('input[type=checkbox]:checked');
  const done = document.querySelector('[data-done]');
  if (done !== null) done.textContent = '';
  if (selected !== null) selected.textContent = length === 0 ? '' : `${length} selected`;
});
