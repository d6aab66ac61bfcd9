// The element's description as custom data for HTML editors such as VS Code.

import type { Manifest } from "./manifest.js";

/** The `html.customData` for the elements of a manifest. */
export function editorData({ modules }: Manifest): object {
  const elements = modules.flatMap(({ declarations }) => declarations);
  return {
    version: 1.1,
    tags: elements.map(({ tagName, description, attributes }) => ({
      name: tagName,
      description,
      attributes: attributes.map((attribute) => {
        const words = [...(attribute.type?.text ?? "").matchAll(/"([^"]+)"/g)];
        const values = words.map(([, word]) => ({ name: word }));
        const { name, description } = attribute;
        return values.length === 0 ? { name, description } : { name, description, values };
      }),
    })),
  };
}
