/** Saved views of the findings list: the form that saves one, and the list of existing ones. */
import type { FindingView } from '../../../model/findings.ts';
import { type Html, html } from '../../html.ts';
import { scrolling, type Viewer, writeForm, writeTo } from '../shell.ts';
import { FINDINGS_PATH, viewPath } from './finding-filters.ts';

const VIEWS = `${FINDINGS_PATH}/views`;

function button(action: string, viewer: Viewer, label: string, fields: Html = html``): Html {
  return writeForm(writeTo(action, viewer), html`${fields}<button class="quiet">${label}</button>`);
}

function viewRow(view: FindingView, viewer: Viewer): Html {
  const { id, name, query, isShared, isDefault, isEditable } = view;
  const choose = html`<input type="hidden" name="default" value="${isDefault ? 'false' : 'true'}">`;
  const label = isDefault ? 'Remove as default' : 'Make default';
  return html`<tr><td data-label="Name"><a href="${viewPath(query)}">${name}</a>${isDefault && html` <span class="badge">default</span>`}</td>
<td data-label="For">${isShared ? 'workspace' : 'only you'}</td>
<td data-label="Default">${button(`${VIEWS}/${id}/default`, viewer, label, choose)}</td>
<td data-label="Delete">${isEditable ? button(`${VIEWS}/${id}/delete`, viewer, 'Delete') : html`<span class="soft">admins only</span>`}</td></tr>`;
}

function table(views: readonly FindingView[], viewer: Viewer): Html {
  return scrolling(
    'Saved views',
    html`<table class="stack" aria-label="Saved views"><thead><tr><th scope="col">Name</th><th scope="col">For</th><th scope="col">Default</th><th scope="col">Delete</th></tr></thead>
<tbody>${views.map((view) => viewRow(view, viewer))}</tbody></table>`,
  );
}

/** Closed until it is wanted. @param query of the list that would be saved */
export function savedViews(views: readonly FindingView[], query: string, viewer: Viewer): Html {
  const fields = html`<input type="hidden" name="query" value="${query}">
<label>Name<input name="name" required maxlength="100" autocomplete="off" placeholder="Critical of the planner"></label>
<label><input type="checkbox" name="shared"> Share with the workspace</label>
<label><input type="checkbox" name="default"> Begin with this view</label>
<button>Save view</button>`;
  return html`<details class="saved-views"><summary>${views.length === 0 ? 'Save this view' : 'Save or manage views'}</summary><div>
<p class="soft">Saves the filter, grouping and order of this list under a name. A name that exists gets the new filter.</p>
${writeForm(writeTo(VIEWS, viewer), fields, 'save-view')}
${views.length > 0 && table(views, viewer)}</div></details>`;
}
