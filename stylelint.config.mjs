// Checks the styles against the least browser versions (README, "Browsers"). Biome lints the rest.

/** Properties that not all engines know, and without which everything can still be read and used. */
const decoration = [
  "accent-color",
  "forced-color-adjust",
  "overscroll-behavior",
  "resize",
  "scrollbar-color",
  "scrollbar-width",
  "user-select",
];

export default {
  plugins: ["stylelint-plugin-use-baseline"],
  rules: {
    "plugin/use-baseline": [
      true,
      {
        // What all engines had in December 2023: Chrome 120, Firefox 121, Safari 17.2.
        available: 2023,
        ignoreProperties: Object.fromEntries(decoration.map((name) => [name, ["/.*/"]])),
        // Chrome 123, Firefox 120, Safari 17.5.
        ignoreFunctions: ["light-dark"],
      },
    ],
  },
  overrides: [{ files: ["**/*.ts"], customSyntax: "postcss-lit" }],
};
