import { css } from "lit";

/**
 * The styles of the viewer. Colours are pairs in `light-dark()`, which follows `color-scheme`. Hosts
 * theme the viewer only with the `--colonnade-*` properties and the parts.
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
  @media (prefers-contrast: more) {
    :host {
      --_bg: var(--colonnade-background, light-dark(#ffffff, #000000));
      --_surface: var(--colonnade-surface, light-dark(#f4f4f6, #111216));
      --_text: var(--colonnade-text, light-dark(#000000, #ffffff));
      --_muted: var(--colonnade-muted, light-dark(#3a3d45, #d0d3db));
      --_line: var(--colonnade-line, light-dark(#a9acb5, #5b5f6b));
      --_line-strong: var(--colonnade-line-strong, light-dark(#6b6f79, #9a9fac));
      --_accent: var(--colonnade-accent, light-dark(#1a3aa8, #b3c0ff));
      --_danger: var(--colonnade-danger, light-dark(#8c1009, #ffb9b2));
      --_good: var(--colonnade-good, light-dark(#0b5c33, #83e6b6));
      --_warn: var(--colonnade-warn, light-dark(#6b4000, #ffcd84));
      --_selected: var(--colonnade-selected, light-dark(#c4d0fb, #33407e));
      --_skeleton: light-dark(#a9acb5, #5b5f6b);
    }
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
  }
  .progress:dir(rtl) > div {
    transform-origin: 100% 0;
  }
  .progress.unknown > div {
    width: 30%;
    /* In few steps, because each frame takes processor time from the rows, above all without a graphics card. */
    animation: sweep 1.6s steps(5) 0.5s infinite backwards;
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

  /* The bar below the rows */
  .toolbar {
    display: flex;
    align-items: center;
    gap: 12px;
    min-height: 38px;
    padding-block: 5px;
    padding-inline: 14px 8px;
    box-sizing: border-box;
    border-top: 1px solid var(--_line-strong);
    background: var(--_surface);
    color: var(--_muted);
    font-size: 12px;
    font-variant-numeric: tabular-nums;
  }
  /* Facts that do not fit are hidden whole, the last ones first, because they wrap out of sight. */
  .line {
    display: flex;
    flex-wrap: wrap;
    flex: 1 1 0;
    min-width: 10em;
    height: 18px;
    line-height: 18px;
    overflow: hidden;
    direction: ltr;
    white-space: nowrap;
  }
  .line:dir(rtl) {
    justify-content: flex-end;
  }
  .line .count {
    color: var(--_text);
    font-weight: 600;
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
  .line > span {
    overflow: hidden;
    max-width: 100%;
    text-overflow: ellipsis;
  }
  .line > .dot + span {
    max-width: calc(100% - 16px);
  }
  /* Words keep their order in a right-to-left page. */
  .picked > span,
  .message > *,
  .alert p,
  button {
    unicode-bidi: plaintext;
  }
  .alert p:dir(rtl) {
    text-align: right;
  }
  .picked {
    display: flex;
    flex: 0 1 auto;
    flex-wrap: wrap;
    height: 18px;
    line-height: 18px;
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
  .toolbar > .picked:has(.notice) {
    flex-shrink: 0.2;
    height: auto;
    white-space: normal;
  }
  .picked > span + span {
    margin-inline-start: 12px;
  }
  .copy {
    display: flex;
    flex: none;
  }
  .copy select {
    border-inline-end: 0;
    border-start-end-radius: 0;
    border-end-end-radius: 0;
  }
  .copy button {
    border-start-start-radius: 0;
    border-end-start-radius: 0;
  }
  select {
    height: var(--_control, 26px);
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
    margin-block: 5.5px;
    margin-inline-end: 9px;
    border-radius: 50%;
    background: var(--_muted);
  }
  .dot.running,
  .dot.streaming,
  .dot.arranging,
  .dot.connecting {
    background: var(--_accent);
  }
  /* Not while rows arrive: their number changes. */
  .dot.running,
  .dot.arranging,
  .dot.connecting {
    animation: pulse 1.4s steps(5) 0.5s infinite;
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
    height: var(--_control, 26px);
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
    height: var(--_control, 26px);
    padding: 0 10px;
    border: 1px solid var(--_line-strong);
    border-radius: 6px;
    background: var(--_bg);
    color: var(--_text);
    font: inherit;
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
    flex-wrap: wrap;
    align-items: flex-start;
    gap: 8px 12px;
    max-height: 45%;
    padding-block: 10px;
    padding-inline: 13px 8px;
    box-sizing: border-box;
    overflow: auto;
    border-bottom: 1px solid var(--_line-strong);
    border-inline-start: 3px solid var(--_danger);
    background: var(--_danger-surface);
  }
  .alert.choice {
    border-inline-start-color: var(--_warn);
    background: var(--_surface);
  }
  .alert.choice .what {
    color: inherit;
  }
  .alert .words {
    flex: 1 1 15em;
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
    top: 0;
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
    }
    .progress.unknown > div {
      width: 100%;
      opacity: 0.5;
    }
  }
  @container (max-width: 560px) {
    .minor:not(.running),
    .picked > span + span {
      display: none;
    }
    .toolbar {
      gap: 8px;
    }
    input {
      width: 7.5em;
    }
    .toolbar:has(.copy) form {
      display: none;
    }
  }
  /* The status line is above the controls. */
  @container (max-width: 440px) {
    .toolbar {
      flex-wrap: wrap;
    }
    .toolbar > .line {
      flex-basis: 100%;
    }
    .toolbar > .picked {
      flex: 1 1 6em;
    }
    .toolbar > .picked:has(.notice) {
      flex-basis: 100%;
    }
    .toolbar > form {
      flex: 1;
    }
    .toolbar > form > input {
      width: 100%;
    }
  }
  @media (pointer: coarse) {
    .toolbar,
    .alert {
      --_control: 32px;
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
      forced-color-adjust: none;
      background: Highlight;
    }
  }
`;
