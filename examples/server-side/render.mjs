import "colonnade/define"; // registers nothing without a DOM

console.log(`<!doctype html>
<title>Rendered on a server</title>
<script type="module" src="/node_modules/colonnade/dist/define.js"></script>
<colonnade-viewer
  src="http://localhost:7878/v1/tables/flights/rows"
  memory="256MiB"
></colonnade-viewer>`);
