// Where the parts of the page stand. A part is one entry in one of these lists.

import { charts } from "../charts/part.js";
import { addFiles, codeAction, exportAction, fileTray } from "../files/parts.js";
import { linkActions } from "../link/link-actions.js";
import { liveActions, liveOverlays } from "../live/live.js";
import { signIn, signOut } from "../session/parts.js";
import type { Part } from "../shell/shell.js";

/** In the top bar, at the right. */
export const barActions: readonly Part[] = [addFiles, liveActions, signOut];

/** Beside the tabs of what is shown, at the right: what is done with it. */
export const rowActions: readonly Part[] = [exportAction, codeAction, linkActions];

/** Between those tabs and the rows, while rows are shown. */
export const rowPanels: readonly Part[] = [];

/** Beside the rows, in one parent with the viewer. */
export const besideRows: readonly Part[] = [charts];

/** Over all of it: dialogs, what files are dropped on, sign-in. They render nothing until needed. */
export const overlays: readonly Part[] = [fileTray, liveOverlays, signIn];
