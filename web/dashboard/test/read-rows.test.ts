import * as colonnade from "colonnade";
import { ColonnadeError } from "colonnade";
import { expect, test, vi } from "vitest";
import { readRows } from "../src/server/read-rows.js";
import { session } from "../src/server/session.js";

vi.mock("colonnade", async (original) => ({ ...(await original<object>()), open: vi.fn() }));
// Node has no page whose URL would resolve relative URLs.
vi.stubGlobal("Request", class {});

const { signal } = new AbortController();
const TABLE = {
  done: Promise.resolve(),
  numRows: 1,
  text: async () => [["42"]],
  close: () => {},
} as unknown as Awaited<ReturnType<typeof colonnade.open>>;

test("rows are requested again after a sign-in", async () => {
  const open = vi.mocked(colonnade.open);
  open.mockRejectedValueOnce(new ColonnadeError("unauthorized", "No token."));
  open.mockResolvedValueOnce(TABLE);
  const needed = vi.spyOn(session, "waitForSignIn").mockResolvedValue();
  expect(await readRows("SELECT 42", { signal })).toEqual([["42"]]);
  expect(needed).toHaveBeenCalledOnce();
  expect(open).toHaveBeenCalledTimes(2);
});

test("other errors are thrown", async () => {
  vi.mocked(colonnade.open).mockRejectedValueOnce(new ColonnadeError("sql_error", "No."));
  await expect(readRows("SELECT", { signal })).rejects.toMatchObject({ code: "sql_error" });
});
