/** A feature that the least versions of the browsers lack. */
export interface NewerFeature {
  /** Its path in MDN's browser-compat-data. */
  path: string;
  /** The browsers that lack it, in words. */
  lacking: string[];
  /** The files that use it, with the code around it. */
  uses: string[];
}

/** The features in scripts, style sheets and pages that the least versions lack. */
export function newerFeatures(files: { name: string; text: string }[]): NewerFeature[];
