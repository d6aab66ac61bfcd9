import { expect, test } from "vitest";
import { errorFromProblem, errorFromResponse } from "../src/http/problem.js";
import { ColonnadeError } from "../src/model/errors.js";

test("a problem keeps the server's code, message and hint", async () => {
  const problem = {
    type: "about:blank",
    title: "The statement failed",
    status: 400,
    code: "sql_error",
    detail: "table 'x' not found",
    hint: "Did you mean 'y'?",
  };
  const response = new Response(JSON.stringify(problem), {
    status: 400,
    headers: { "content-type": "application/problem+json" },
  });
  expect((await errorFromResponse(response)).toJSON()).toMatchObject({
    code: "sql_error",
    message: "table 'x' not found",
    hint: "Did you mean 'y'?",
    status: 400,
  });
});

test("a response without problem document is reported by its status", async () => {
  const page = new Response("<h1>Bad gateway</h1>", {
    status: 502,
    statusText: "Bad Gateway",
    headers: { "content-type": "text/html" },
  });
  expect((await errorFromResponse(page)).message).toBe("The server answered 502 Bad Gateway.");
  const broken = new Response("{", {
    status: 500,
    headers: { "content-type": "application/json" },
  });
  expect((await errorFromResponse(broken)).code).toBe("http_error");
});

test("errors survive postMessage and keep the decoder's position", () => {
  const thrown = Object.assign(new Error("cut off"), {
    code: "truncated_message",
    row: 7,
    byte: 9,
  });
  const error = ColonnadeError.from(thrown, "other");
  const copy = ColonnadeError.fromPlain(structuredClone(error.toJSON()));
  expect(copy).toMatchObject({ code: "truncated_message", message: "cut off", row: 7, byte: 9 });
});

test("the error of a query's record keeps its message", () => {
  const error = errorFromProblem(
    { code: "broken_row", message: "line 3: …", hint: "mend it" },
    200,
  );
  expect(error).toMatchObject({ code: "broken_row", message: "line 3: …", hint: "mend it" });
});

test("a trap is a crash of the decoder, any other error has the given code", () => {
  const trap = new WebAssembly.RuntimeError("unreachable");
  expect(ColonnadeError.from(trap, "other").code).toBe("decoder_crashed");
  expect(ColonnadeError.from("words", "other")).toMatchObject({ code: "other", message: "words" });
});
