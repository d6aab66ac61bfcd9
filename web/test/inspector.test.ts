import { expect, test } from "vitest";
import { bytesOf, hexLines, imageTypeOf } from "../src/viewer/binary.js";
import { parseJson } from "../src/viewer/json-tree.js";

test("JSON keeps digits, repeated names and their order", () => {
  expect(parseJson('{"b":9007199254740993, "a":1.50,"a":["x\\n",null,true]}')).toEqual({
    kind: "object",
    members: [
      ["b", { kind: "literal", text: "9007199254740993" }],
      ["a", { kind: "literal", text: "1.50" }],
      [
        "a",
        {
          kind: "array",
          items: [
            { kind: "string", text: "x\n" },
            { kind: "literal", text: "null" },
            { kind: "literal", text: "true" },
          ],
        },
      ],
    ],
  });
  expect(parseJson("[]")).toEqual({ kind: "array", items: [] });
});

test("what is not JSON, or nested too deeply, is shown as text", () => {
  for (const text of ["[1,]", "{a:1}", "[1", "[1]x", "", "[01]", '{"a"}', '["\n', "]", "[nul]"]) {
    expect(parseJson(text), text).toBeUndefined();
  }
  expect(parseJson("[".repeat(100_000))).toBeUndefined();
  expect(parseJson(`${"[".repeat(100)}${"]".repeat(100)}`)).toBeDefined();
});

test("bytes are read back from their text", () => {
  expect(bytesOf("00ff7f (3 bytes)")).toEqual(Uint8Array.of(0, 255, 127));
  expect(bytesOf("00 (1 byte)")).toEqual(Uint8Array.of(0));
  expect(bytesOf("(0 bytes)")).toEqual(new Uint8Array());
  expect(bytesOf("00f (2 bytes)")).toBeUndefined();
});

test("hex has sixteen bytes a line", () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, index) => 0x3f + index);
  expect(hexLines(bytes, 0, 18)).toBe(
    "00000000  3f 40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e  ?@ABCDEFGHIJKLMN\n" +
      `00000010  ${"4f 50".padEnd(47)}  OP`,
  );
});

test("images are detected by their first bytes", () => {
  const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  expect(imageTypeOf(bytes("\x89PNG\r\n\x1a\n...."))).toBe("image/png");
  expect(imageTypeOf(bytes("\xff\xd8\xff\xe0"))).toBe("image/jpeg");
  expect(imageTypeOf(bytes("GIF89a"))).toBe("image/gif");
  expect(imageTypeOf(bytes("RIFF\x01\x02\x0a\x04WEBP"))).toBe("image/webp");
  expect(imageTypeOf(bytes("RIFF\x01\x02\x03\x04WAVE"))).toBeUndefined();
  expect(imageTypeOf(new Uint8Array())).toBeUndefined();
});
