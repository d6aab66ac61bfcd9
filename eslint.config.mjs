// Checks the built scripts against the least browser versions (README, "Browsers"). Biome lints the source.

import baselineJs from "eslint-plugin-baseline-js";

export default [
  {
    plugins: { "baseline-js": baselineJs },
    linterOptions: { noInlineConfig: true },
    rules: {
      "baseline-js/use-baseline": [
        "error",
        {
          // What all engines had in December 2023: Chrome 120, Firefox 121, Safari 17.2.
          available: 2023,
          includeWebApis: { preset: "auto" },
          includeJsBuiltins: { preset: "auto" },
          ignoreFeatures: [
            // Chrome 116, Firefox 124, Safari 17.4.
            "abortsignal-any",
            "abortsignal-timeout",
            // Chrome 119, Firefox 121, Safari 17.4.
            "promise-withresolvers",
            // Only where it exists: copying has the copy command instead, wasm-bindgen asks for
            // `Symbol.dispose`, and CodeMirror for `isInputPending`.
            "async-clipboard",
            "explicit-resource-management",
            "is-input-pending",
          ],
        },
      ],
    },
  },
];
