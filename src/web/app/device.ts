/** Confirming the login of a command line: its code, its device, and what it may do. Needs no script. */
import type { DeviceLogin } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { term, time } from './format.ts';
import { appPage, facts, type Look, type Viewer, writeTo } from './shell.ts';

type WaitingLogin = DeviceLogin & {
  /** without a dash */
  readonly code: string;
};

type DevicePage = { readonly nowMs: number } & (
  | { readonly state: 'typing' }
  | { readonly state: 'deciding' | 'approved' | 'denied'; readonly login: WaitingLogin }
);

const PATH = '/app/device';

function typing(): Html {
  return html`<p class="lead">Run <code>sluice login</code> with the address of this server, then enter the code that it shows.</p>
<form class="panel stacked" method="get" action="${PATH}"><label>Code<input name="user_code" autocomplete="off" autocapitalize="characters"
 spellcheck="false" placeholder="BCDF-GHJK" required maxlength="40"></label>
<div><button>Continue</button></div></form>`;
}

function rights(viewer: Viewer): Html {
  return html`<ul><li>read the ${term('finding', 'findings')}, ${term('run', 'runs')}, ${term('rule-and-corpus', 'rules')} and the list of ${term('key', 'keys')} of this workspace</li>
${viewer.isAdmin && html`<li>create, change and revoke keys of this workspace, while you are an admin or owner of it</li>`}</ul>
<p>It cannot change rules, members or settings, and has no access to other workspaces. The audit log records its changes
under your name. You can sign it out in the settings, under “Your sessions”.</p>`;
}

function deciding(viewer: Viewer, login: WaitingLogin, nowMs: number): Html {
  const code = `${login.code.slice(0, 4)}-${login.code.slice(4)}`;
  const button = (decision: string, label: string, look: string): Html =>
    html`<button name="decision" value="${decision}" class="${look}">${label}</button>`;
  return html`<p class="lead">Approve only if you have just run <code>sluice login</code> yourself and your terminal shows the
same code: the command line will act as you.</p>
<section class="panel">${facts([
    ['Code', html`<strong><code>${code}</code></strong>`],
    ['Device', login.deviceName],
    ['Address', login.address],
    ['Started', time(login.createdAt, nowMs)],
    ['Signs in as', viewer.email],
    ['Workspace', `${viewer.workspaceName} (${viewer.workspaceSlug})`],
  ])}
<h2>It can</h2>${rights(viewer)}
<form method="post" action="${writeTo(PATH, viewer)}"><input type="hidden" name="user_code" value="${login.code}">
<div class="buttons">${button('approve', 'Approve', '')} ${button('deny', 'Deny', 'danger')}</div></form></section>
<p class="soft">To use another workspace, switch to it in the settings first, then open this page again.</p>`;
}

function decided(state: 'approved' | 'denied', { deviceName }: WaitingLogin): Html {
  return state === 'approved'
    ? html`<p class="lead">“${deviceName}” is approved. Go back to your terminal: it continues within seconds.</p>
<p><a class="button" href="/app/settings">To your sessions</a></p>`
    : html`<p class="lead">“${deviceName}” was denied and gets no access.</p>
<p><a class="button" href="/app">Back to the overview</a></p>`;
}

export function devicePage(look: Look, viewer: Viewer, data: DevicePage): Html {
  const parts = (): HtmlValue => {
    if (data.state === 'typing') return typing();
    if (data.state === 'deciding') return deciding(viewer, data.login, data.nowMs);
    return decided(data.state, data.login);
  };
  return appPage(look, viewer, {
    title: 'Sign in on the command line',
    current: '/app/settings',
    main: html`<h1>Sign in on the command line</h1>${parts()}`,
  });
}
