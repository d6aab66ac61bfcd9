/**
 * Makes names of columns distinct. A name's first occurrence stays as it is; a later one becomes
 * `name (n)` with the least n ≥ 2 that equals no other name.
 */
export function distinctNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const nextNumbers = new Map<string, number>();
  return names.map((name) => {
    let number = nextNumbers.get(name);
    let distinct = name;
    if (number === undefined) number = 2;
    else {
      do distinct = `${name} (${number++})`;
      while (taken.has(distinct));
      taken.add(distinct);
    }
    nextNumbers.set(name, number);
    return distinct;
  });
}
