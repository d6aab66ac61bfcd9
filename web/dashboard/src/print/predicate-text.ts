import type { Predicate } from "colonnade";

const SIGNS: Record<string, string> = {
  eq: "=",
  ne: "≠",
  lt: "<",
  le: "≤",
  gt: ">",
  ge: "≥",
  contains: "contains",
  starts_with: "begins with",
};

/** A predicate as a text for people: `l_quantity ≥ 50 and l_shipmode = AIR`. */
export function predicateText(predicate: Predicate): string {
  if ("and" in predicate) return joined(predicate.and, "and");
  if ("or" in predicate) return joined(predicate.or, "or");
  if ("not" in predicate) return `not (${predicateText(predicate.not)})`;
  if (predicate.op === "matches") {
    return `${predicate.columns?.join(" or ") ?? "any column"} contains ${predicate.value}`;
  }
  const { op, column } = predicate;
  if (op === "is_null") return `${column} is null`;
  if (op === "not_null") return `${column} is not null`;
  const value = "value" in predicate ? predicate.value : undefined;
  if (op === "in") return `${column} is one of ${(value as unknown[]).map(String).join(", ")}`;
  return `${column} ${SIGNS[op] ?? op} ${String(value)}`;
}

function joined(parts: readonly Predicate[], word: string): string {
  return parts
    .map((part) =>
      "and" in part || "or" in part ? `(${predicateText(part)})` : predicateText(part),
    )
    .join(` ${word} `);
}
