import { svg } from "lit";

/** The logo: a lintel on three columns. */
export const mark = svg`<svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
  <path fill="currentColor" d="M2 2h16v3H2zM2 15h16v3H2zM4 6.500h2.500v7H4zM8.750 6.500h2.500v7h-2.500zM13.500 6.500H16v7h-2.500z"/>
</svg>`;

const stroke = (path: string) => svg`<svg
  viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="none"
  stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"
><path d=${path}/></svg>`;

export const chevron = stroke("m6 4 4 4-4 4");
export const list = stroke("M2.5 4h11M2.5 8h11M2.5 12h11");
export const sun = stroke(
  "M8 5.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600M8 1.500v1.200M8 13.300v1.200M1.500 8h1.200M13.300 8h1.200M3.400 3.400l.8.8M11.800 11.800l.8.8M12.600 3.400l-.8.8M4.200 11.800l-.8.8",
);
export const moon = stroke(
  "M13.500 9.600A5.800 5.800 0 0 1 6.400 2.500a5.800 5.800 0 1 0 7.100 7.100Z",
);
export const half = stroke(
  "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 0v12M8 5l4.500-.8M8 8h6M8 11l4.500.8",
);
export const plus = stroke("M8 3v10M3 8h10");
export const cross = stroke("m4.500 4.500 7 7M11.500 4.500l-7 7");
export const grid = stroke("M2.500 3h11v10h-11zM2.500 6.500h11M6.500 6.500V13");
export const link = stroke(
  "M6.800 9.200a2.500 2.500 0 0 0 3.600 0l2.200-2.200a2.500 2.500 0 0 0-3.600-3.600l-.7.7M9.200 6.800a2.500 2.500 0 0 0-3.600 0L3.400 9a2.500 2.500 0 0 0 3.600 3.600l.7-.7",
);
export const refresh = stroke("M13 8a5 5 0 1 1-1.500-3.600M13 2.500v2.500h-2.500");
export const clock = stroke("M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 4.800V8l2.200 1.600");
export const copy = stroke("M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8z");
export const activity = stroke("M2 8.500h2.500L6.500 3l3 10 2-4.500H14");
export const help = stroke(
  "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM6.300 6.400a1.750 1.750 0 1 1 2.600 1.500c-.6.35-.9.7-.9 1.300M8 11.200v.1",
);
export const code = stroke(
  "m5.500 4.500-3.500 3.500 3.500 3.500M10.500 4.500l3.500 3.500-3.500 3.500",
);
export const openFile = stroke(
  "M2.500 12.500v-9h4l1.500 1.800h5.500v7.200zM8 11V7.500M6.300 9 8 7.300 9.700 9",
);
export const download = stroke("M8 2.500v7.500M4.800 7 8 10.200 11.200 7M2.500 13.500h11");
export const terminal = stroke("M3 4.500 6.500 8 3 11.500M8 12h5");
export const signOut = stroke("M6.500 2.500h-4v11h4M10 5l3 3-3 3M13 8H6.500");
export const trash = stroke("M3 4.500h10M6.500 4.500v-2h3v2M4.500 4.500l.6 9h5.800l.6-9");
