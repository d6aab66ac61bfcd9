import type { TableProgress } from "../api/table.js";
import type { Arrangement } from "../model/arrangement.js";
import { describe } from "./sorting.js";
import { announcement, type ViewerPhase } from "./status.js";

/** How often more rows, or more of them read, are announced. */
const INTERVAL_MS = 3000;
const PHASES_OF_PROGRESS: readonly ViewerPhase[] = ["streaming", "windowed", "arranging"];

/** What the status line says to those who hear it: each change at once, progress now and then. */
export class Announcer {
  #text = "";
  #status = "";
  #phase: ViewerPhase = "idle";
  #toldMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onDue: () => void;

  /** @param onDue called when {@link text} should be asked again */
  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Says something that is no status; it stands until the status changes. */
  say(text: string): void {
    this.#text = text;
  }

  /** Makes the next status be told at once. */
  hurry(): void {
    this.#toldMs = Number.NEGATIVE_INFINITY;
  }

  /** What is to be said now. */
  text(phase: ViewerPhase, progress: TableProgress | undefined, arrangement: Arrangement): string {
    const nowMs = performance.now();
    const isDue = nowMs - this.#toldMs >= INTERVAL_MS;
    if (phase === this.#phase && PHASES_OF_PROGRESS.includes(phase) && !isDue) {
      // Where nothing more comes, what came is told all the same.
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#onDue, INTERVAL_MS + this.#toldMs - nowMs);
      return this.#text;
    }
    // Before the first rows there is nothing to say but that they are on their way.
    if (phase === "streaming" && progress?.rows === 0) return this.#text;
    this.#phase = phase;
    this.#toldMs = nowMs;
    const parts = [announcement(phase, progress), describe(arrangement)];
    const status = parts.filter((part) => part !== "").join(", ");
    if (status !== this.#status) this.#text = status;
    this.#status = status;
    return this.#text;
  }
}
