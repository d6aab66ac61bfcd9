/**
 * Arguments with which Playwright starts Chromium. With each context, that is in a new window, Chromium would load the
 * pages behind its address bar, which takes as long as ours.
 */
export const CHROMIUM_ARGUMENTS = [
  // Chromium has no sandbox for root.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  // Chromium reads only the last list, so this one begins with Playwright's own.
  "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,BoundaryEventDispatchTracksNodeRemoval," +
    "DestroyProfileOnBrowserClose,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,LensOverlay," +
    "MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,BlockOriginHeaderModificationOnRedirect," +
    "Translate,AutoDeElevate,OptimizationHints," +
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
];
