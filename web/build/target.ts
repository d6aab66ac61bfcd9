import versions from "../src/model/least-versions.json" with { type: "json" };

/** The least versions of the browsers, as Vite names them. */
export const BUILD_TARGET = Object.entries(versions).map(([browser, version]) => browser + version);
