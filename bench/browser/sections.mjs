// Replaces parts of a report by those of a later one, which measured less.

/**
 * The report `old` with the sections and targets of `text`, a report of some of its benchmarks. A replaced section
 * begins with the date and the machine of its own measurement. Sections that `old` lacks are not added.
 */
export function withSections(old, text) {
  const [head, ...sections] = sectionsOf(text);
  const [session] = head.slice(head.search(/^\d{4}-\d\d-\d\d/m)).split("\n\n");
  const dated = new Map(
    sections.map((section) => {
      const [heading, ...rest] = section.trimEnd().split("\n\n");
      return [heading, `${[heading, session, ...rest].join("\n\n")}\n\n`];
    }),
  );
  const isUnchanged = new Set(sections);
  const [oldHead, ...oldSections] = sectionsOf(old);
  const kept = oldSections.map((section) => {
    const [heading] = section.split("\n\n");
    return isUnchanged.has(section) ? section : (dated.get(heading) ?? section);
  });
  return `${[withTargets(oldHead, head), ...kept].join("").trimEnd()}\n`;
}

/** The text before the second heading, and each heading with the text up to the next one. */
function sectionsOf(text) {
  const [head, ...sections] = text.split(/^(?=#{1,2} )/m).filter((section) => section !== "");
  return [head, ...sections];
}

/** The targets of `head`, with what `later` measured for the same ones. */
function withTargets(head, later) {
  const nameOf = (row) => row.split(" | ").slice(0, 2).join(" | ");
  const rows = new Map(
    later
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((row) => [nameOf(row), row]),
  );
  return head
    .split("\n")
    .map((line) => rows.get(nameOf(line)) ?? line)
    .join("\n");
}
