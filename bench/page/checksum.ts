/** The sum of numbers, or of 64-bit integers whose sum stays below 2^53. */
export function sumOf(values: ArrayLike<number> | ArrayLike<bigint>): number {
  if (typeof values[0] === "bigint") {
    const integers = values as ArrayLike<bigint>;
    let total = 0n;
    for (let index = 0; index < integers.length; index++) total += integers[index] as bigint;
    return Number(total);
  }
  const numbers = values as ArrayLike<number>;
  let total = 0;
  for (let index = 0; index < numbers.length; index++) total += numbers[index] as number;
  return total;
}

/** A checksum of a text that cannot be computed without decoding the text. */
export function textValue(text: string): number {
  return text.length * 31 + text.charCodeAt(0) + text.charCodeAt(text.length - 1);
}

const MINUS = 45;
const ZERO = 48;

/** The unscaled value of a decimal of at most 15 digits: -1700 for `-17.00`. */
export function unscaledValue(decimal: string): number {
  let value = 0;
  for (let index = 0; index < decimal.length; index++) {
    const unit = decimal.charCodeAt(index);
    if (unit >= ZERO) value = value * 10 + unit - ZERO;
  }
  return decimal.charCodeAt(0) === MINUS ? -value : value;
}
