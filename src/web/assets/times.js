// Times are sent in UTC; they are shown in the viewer's time zone, exact ones with UTC beside them.
{
  const EXACT = {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
  };
  const toSecond = new Intl.DateTimeFormat(undefined, EXACT);
  const toMinute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
  const toMillisecond = new Intl.DateTimeFormat(undefined, { ...EXACT, fractionalSecondDigits: 3 });

  const utcOf = (date) =>
    date
      .toISOString()
      .replace('T', ' ')
      .replace(/\.000Z$|Z$/, ' UTC');

  const ofUtc = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' };
  const utcTime = new Intl.DateTimeFormat('en', ofUtc);
  const utcDayTime = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', ...ofUtc });

  /** `(19:18 UTC)`, with the day where it is another one than here; nothing where the viewer's zone is UTC. */
  function besides(date) {
    if (date.getTimezoneOffset() === 0) return '';
    const format = date.getDate() === date.getUTCDate() ? utcTime : utcDayTime;
    return ` (${format.format(date)} UTC)`;
  }

  /** An exact time becomes local; one that says how long ago has the local time in its tooltip. */
  function localize(time) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) return;
    if (time.dataset.local !== undefined) {
      const local = date.getMilliseconds() === 0 ? toSecond : toMillisecond;
      time.textContent = `${local.format(date)}${besides(date)}`;
      time.title = utcOf(date);
    } else if (time.dataset.slot !== undefined) {
      time.textContent = toMinute.format(date);
      time.title = utcOf(date);
    } else if (time.dataset.ago !== undefined) {
      time.title = `${toSecond.format(date)} · ${utcOf(date)}`;
    }
  }

  /** A bar's tooltip: the hour in both time zones. */
  function localizeBar(bar) {
    const title = bar.querySelector('title');
    const date = new Date(bar.dataset.at);
    if (title === null || Number.isNaN(date.getTime())) return;
    title.textContent = `${toMinute.format(date)} · ${title.textContent}`;
  }

  function localizeIn(element) {
    if (element.matches('time')) localize(element);
    for (const time of element.querySelectorAll('time')) localize(time);
    for (const bar of element.querySelectorAll('g[data-at]')) localizeBar(bar);
  }

  localizeIn(document.body);
  // Rows and steps that are added later.
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) localizeIn(node);
    }
  }).observe(document.body, { childList: true, subtree: true });
}
