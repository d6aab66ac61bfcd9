import { svg } from "lit";

/** A lintel on three columns: the mark before the name. */
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
