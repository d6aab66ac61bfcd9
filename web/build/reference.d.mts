/** The content of `docs/reference.md`. */
export function reference(): string;
