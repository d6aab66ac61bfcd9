// The same for the HTML editor of VS Code (and others that read its custom data).

import type { Manifest } from "./manifest.js";

/** `html.customData` of the elements of a manifest. */
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
