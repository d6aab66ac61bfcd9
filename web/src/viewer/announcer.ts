import type { TableProgress } from "../api/table.js";
import type { Arrangement } from "../model/arrangement.js";
import { describe } from "./sorting.js";
import { announcement, type ViewerPhase } from "./status.js";

/** Minimum time between two announcements of progress. */
const INTERVAL_MS = 3000;
const PHASES_OF_PROGRESS: readonly ViewerPhase[] = [
  "running",
  "streaming",
  "windowed",
  "arranging",
];

/** The status for screen readers: changes of state at once, progress every 3 s. */
export class Announcer {
  #text = "";
  #status = "";
  #phase: ViewerPhase = "idle";
  #announcedMs = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onDue: () => void;

  /** @param onDue called when {@link text} should be read again */
  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Announces a text that is not the status; it stays until the status changes. */
  say(text: string): void {
    this.#text = text;
  }

  /** Announces the next status at once. */
  announceNext(): void {
    this.#announcedMs = Number.NEGATIVE_INFINITY;
  }

  /** The text to announce now. */
  text(phase: ViewerPhase, progress: TableProgress | undefined, arrangement: Arrangement): string {
    const nowMs = performance.now();
    const isDue = nowMs - this.#announcedMs >= INTERVAL_MS;
    // The first rows usually come soon.
    const isProgress = phase === "running" || phase === this.#phase;
    if (isProgress && PHASES_OF_PROGRESS.includes(phase) && !isDue) {
      // The timer announces the last progress before rows stop arriving.
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#onDue, INTERVAL_MS + this.#announcedMs - nowMs);
      return this.#text;
    }
    this.#phase = phase;
    this.#announcedMs = nowMs;
    const texts = [announcement(phase, progress), describe(arrangement)];
    const status = texts.filter((text) => text !== "").join(", ");
    if (status !== this.#status) this.#text = status;
    this.#status = status;
    return this.#text;
  }
}
