import { css } from "lit";

/**
 * Colours come in pairs by `light-dark()`, which follows `color-scheme`; hosts change them by the
 * `--colonnade-*` properties, which is the whole interface of theming beside the parts.
 */
export const viewerStyles = css`
  :host {
    --_bg: var(--colonnade-background, light-dark(#ffffff, #131418));
    --_surface: var(--colonnade-surface, light-dark(#fafafb, #191a1f));
    --_hover: var(--colonnade-hover, light-dark(#f5f6f8, #1c1e24));
    --_text: var(--colonnade-text, light-dark(#1b1d22, #e6e7ea));
    --_muted: var(--colonnade-muted, light-dark(#636873, #989daa));
    --_line: var(--colonnade-line, light-dark(#ededf0, #24262d));
    --_line-strong: var(--colonnade-line-strong, light-dark(#dfe0e5, #30333c));
    --_accent: var(--colonnade-accent, light-dark(#3557d6, #8ea2ff));
    --_danger: var(--colonnade-danger, light-dark(#b3261e, #ff9a90));
    --_danger-surface: var(--colonnade-danger-surface, light-dark(#fdf3f2, #2a1817));
    --_good: var(--colonnade-good, light-dark(#1a7f4b, #5fd39a));
    --_warn: var(--colonnade-warn, light-dark(#8a5300, #f0b866));
    --_selected: var(
      --colonnade-selected,
      light-dark(#e5eafc, #262c48)
    );
    --_match: var(--colonnade-match, light-dark(#fff3c4, #453a12));
    --_match-current: var(--colonnade-match-current, light-dark(#ffd95e, #77600c));
    --_skeleton: light-dark(#e9eaee, #282a32);
    --_font: var(
      --colonnade-font,
      Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue",
      "Liberation Sans", Arial, sans-serif
    );
    --_mono: var(
      --colonnade-font-mono,
      ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace
    );

    display: block;
    position: relative;
    min-height: 12rem;
    color-scheme: light dark;
    color: var(--_text);
    background: var(--_bg);
    font: 13px / 1.4 var(--_font);
    -webkit-font-smoothing: antialiased;
  }
  :host([hidden]) {
    display: none;
  }
  :host([theme="light"]) {
    color-scheme: light;
  }
  :host([theme="dark"]) {
    color-scheme: dark;
  }

  .frame {
    display: flex;
    flex-direction: column;
    height: 100%;
    min-height: inherit;
  }
  .stage {
    position: relative;
    flex: 1;
    min-height: 0;
    overflow: hidden;
  }

  /* Progress */
  .progress {
    position: absolute;
    inset: 0 0 auto;
    height: 2px;
    z-index: 4;
    overflow: hidden;
  }
  .progress > div {
    height: 100%;
    background: var(--_accent);
    transform-origin: 0 0;
    transition: transform 120ms linear;
  }
  .progress.unknown > div {
    width: 30%;
    animation: sweep 1.2s ease-in-out infinite;
  }
  .progress.waiting > div,
  .progress.interrupted > div {
    background: var(--_muted);
    animation: none;
  }
  .progress.unknown.waiting > div,
  .progress.unknown.interrupted > div {
    width: 100%;
    opacity: 0.5;
  }
  @keyframes sweep {
    from {
      transform: translateX(-100%);
    }
    to {
      transform: translateX(340%);
    }
  }

  /* The bar below */
  .toolbar {
    display: flex;
    align-items: center;
    gap: 12px;
    min-height: 38px;
    padding: 0 8px 0 14px;
    box-sizing: border-box;
    border-top: 1px solid var(--_line-strong);
    background: var(--_surface);
    color: var(--_muted);
    font-size: 12px;
    font-variant-numeric: tabular-nums;
  }
  .line {
    display: flex;
    align-items: center;
    gap: 0;
    flex: 1;
    min-width: 0;
    overflow: hidden;
    white-space: nowrap;
  }
  .line .count {
    color: var(--_text);
    font-weight: 550;
  }
  .line > span + span::before {
    content: "·";
    margin: 0 7px;
    color: var(--_muted);
    font-weight: 400;
  }
  .line > .dot + span::before {
    content: none;
  }
  .line > .minor {
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .picked {
    display: flex;
    flex: 0 1 auto;
    min-width: 0;
    overflow: hidden;
    color: var(--_text);
    white-space: nowrap;
  }
  .toolbar:has(.picked) .minor {
    display: none;
  }
  .picked > span {
    flex: 0 1 auto;
    overflow: hidden;
    text-overflow: ellipsis;
  }
  .picked > span:first-child {
    flex: none;
    max-width: 100%;
  }
  .picked > span + span {
    margin-left: 12px;
  }
  .copy {
    display: flex;
    flex: none;
  }
  .copy select {
    border-right: 0;
    border-radius: 6px 0 0 6px;
  }
  .copy button {
    border-radius: 0 6px 6px 0;
  }
  select {
    height: 26px;
    padding: 0 4px;
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    color: var(--_text);
    font: inherit;
  }
  .dot {
    flex: none;
    width: 7px;
    height: 7px;
    margin-right: 9px;
    border-radius: 50%;
    background: var(--_muted);
  }
  .dot.streaming,
  .dot.arranging,
  .dot.connecting {
    background: var(--_accent);
    animation: pulse 1.4s ease-in-out infinite;
  }
  .dot.complete {
    background: var(--_good);
  }
  .dot.failed {
    background: var(--_danger);
  }
  .dot.windowed {
    background: var(--_accent);
  }
  .dot.waiting {
    background: var(--_muted);
  }
  .dot.interrupted,
  .dot.paused,
  .dot.cancelled {
    background: var(--_warn);
  }
  @keyframes pulse {
    50% {
      opacity: 0.35;
    }
  }
  .warning {
    color: var(--_warn);
  }

  form {
    flex: none;
    margin: 0;
  }
  input {
    width: 9.5em;
    height: 26px;
    padding: 0 8px;
    box-sizing: border-box;
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    color: var(--_text);
    font: inherit;
    font-variant-numeric: tabular-nums;
  }
  input::placeholder {
    color: var(--_muted);
    opacity: 1;
  }
  input[aria-invalid="true"] {
    border-color: var(--_danger);
  }
  button {
    flex: none;
    height: 26px;
    padding: 0 10px;
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    color: var(--_text);
    font: inherit;
    font-weight: 500;
    cursor: pointer;
  }
  button:hover {
    background: var(--_hover);
  }
  input:focus-visible,
  select:focus-visible,
  button:focus-visible {
    outline: 2px solid var(--_accent);
    outline-offset: 1px;
  }

  /* Messages */
  .message {
    position: absolute;
    inset: 0;
    display: grid;
    place-content: center;
    justify-items: center;
    gap: 4px;
    padding: 24px;
    text-align: center;
    color: var(--_muted);
    pointer-events: none;
  }
  .message strong {
    color: var(--_text);
    font-size: 14px;
    font-weight: 600;
  }
  .message.below-header {
    top: 46px;
  }
  .alert {
    display: flex;
    align-items: flex-start;
    gap: 12px;
    padding: 10px 8px 10px 16px;
    border-bottom: 1px solid var(--_line-strong);
    box-shadow: inset 3px 0 0 var(--_danger);
    background: var(--_danger-surface);
  }
  .alert.choice {
    box-shadow: inset 3px 0 0 var(--_warn);
    background: var(--_surface);
  }
  .alert.choice .what {
    color: inherit;
  }
  .alert .words {
    flex: 1;
    min-width: 0;
    overflow-wrap: anywhere;
  }
  .alert p {
    margin: 0;
  }
  .alert .what {
    color: var(--_danger);
    font-weight: 600;
    white-space: pre-wrap;
    max-height: 9em;
    overflow: auto;
  }
  .alert .detail {
    margin-top: 2px;
    color: var(--_text);
  }
  .alert code {
    color: var(--_muted);
    font: 11.5px var(--_mono);
  }

  .unseen {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }

  @media (prefers-reduced-motion: reduce) {
    .dot,
    .progress > div {
      animation-duration: 0s;
      transition: none;
    }
    .progress.unknown > div {
      width: 100%;
      opacity: 0.5;
    }
  }
  @container (max-width: 560px) {
    .minor,
    .picked > span + span {
      display: none;
    }
    input {
      width: 7.5em;
    }
    .toolbar:has(.copy) form {
      display: none;
    }
  }
  .frame {
    container-type: inline-size;
  }
  @media (forced-colors: active) {
    .dot {
      forced-color-adjust: none;
      background: CanvasText;
    }
    .progress > div {
      background: Highlight;
    }
  }
`;
