// The report of a test run: `.cache/last-test.json` of `npm test`, `.cache/full-test.json` of `npm run test:full`.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { leftOut, read, root } from "./run.mjs";

/** The commit of the checkout, and whether the checkout has no other changes. */
function version() {
  return {
    commit: read("git", ["-C", root, "rev-parse", "HEAD"]) ?? null,
    clean: read("git", ["-C", root, "status", "--porcelain"]) === "",
  };
}

/**
 * What ran, of which commit, in which time. The file is written before the first stage and after each, so an
 * interrupted run is not taken for a passed one.
 */
export class TestReport {
  #path;
  #tier;
  #content;

  /**
   * A report in `.cache/{name}.json` on a run that should pass the stages `tier`. If it is resumed, the stages that
   * an unfinished run has passed on the same commit need not run again.
   */
  constructor(name, tier, isResumed) {
    this.#path = join(root, ".cache", `${name}.json`);
    this.#tier = tier;
    const { commit, clean } = version();
    const earlier =
      isResumed && existsSync(this.#path) ? JSON.parse(readFileSync(this.#path, "utf8")) : {};
    const isSame =
      clean &&
      earlier.clean &&
      earlier.commit === commit &&
      !earlier.passed &&
      earlier.not_run.every((name) => tier.includes(name));
    this.#content = { commit, clean, passed: false, stages: isSame ? earlier.stages : {} };
    this.#write();
  }

  /** Whether a stage has passed. */
  has(stage) {
    return stage in this.#content.stages;
  }

  /** Adds a stage that has passed. */
  add(stage, seconds) {
    this.#content.stages[stage] = Math.round(seconds * 10) / 10;
    this.#write();
  }

  /** Ends the report: the run has passed if all stages of the tier ran, whole, on one state of the checkout. */
  end() {
    const now = version();
    this.#content.clean &&= now.clean && now.commit === this.#content.commit;
    this.#content.passed = this.#notRun().length === 0;
    this.#write();
  }

  /** The stages that have not passed, and what was left out of the others. */
  #notRun() {
    return [...this.#tier.filter((stage) => !this.has(stage)), ...leftOut];
  }

  #write() {
    const { commit, clean, passed, stages } = this.#content;
    const seconds = Math.round(Object.values(stages).reduce((sum, each) => sum + each, 0));
    const report = { commit, clean, passed, seconds, stages, not_run: this.#notRun() };
    mkdirSync(join(root, ".cache"), { recursive: true });
    writeFileSync(this.#path, `${JSON.stringify(report, null, 2)}\n`);
  }
}
