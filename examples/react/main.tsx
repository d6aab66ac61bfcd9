import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { Viewer } from "./viewer.js";

function Page() {
  const [columns, setColumns] = useState(0);
  return (
    <>
      <h1>{columns} columns</h1>
      <Viewer
        src="http://localhost:7878/v1/tables/flights/rows"
        onSchema={({ fields }) => setColumns(fields.length)}
      />
    </>
  );
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
