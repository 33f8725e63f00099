/** Saved views of the findings list: names for filters. */

/** Most views of one member, and most that a workspace shares. */
export const FINDING_VIEWS_MAX = 20;
/** Most characters of a view's query. */
export const VIEW_QUERY_CHARS_MAX = 2000;

export interface FindingView {
  readonly id: number;
  readonly name: string;
  /** of the list's address, without its `?` */
  readonly query: string;
  /** of everybody in the workspace, not only of the member who sees it */
  readonly isShared: boolean;
  /** the list begins with it, for this member */
  readonly isDefault: boolean;
  /** the member may change and delete it */
  readonly isEditable: boolean;
}

export interface NewFindingView {
  readonly name: string;
  readonly query: string;
  readonly isShared: boolean;
  readonly isDefault: boolean;
}
