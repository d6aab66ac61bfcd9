/** The page, as it should stand in `docs/`. */
export function reference(): string;
