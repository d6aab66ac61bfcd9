const { COLONNADE_FULL: isFull, COLONNADE_SEED: given } = process.env;

/** The seed of random input: drawn if all tests run, so that they differ; otherwise always the same. */
export const SEED = Number(given ?? (isFull ? Date.now() % 1_000_000 : 1));
