// A web server as on the internet: nginx with code that is compressed beforehand, and files of which it sends parts.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Obstacle } from "../../scripts/run.mjs";

const PROGRAMS = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];
const MAX_START_MS = 5000;

/**
 * Starts nginx on a free port of loopback. Debian's nginx has no module for brotli, so code is compressed with gzip.
 *
 * @param {{ code: Record<string, string | Buffer>, files: Record<string, string> }} content code by its path, and
 *   paths of files on disk by their path
 */
export async function startWebServer({ code, files }) {
  const program = PROGRAMS.find((path) => existsSync(path));
  if (program === undefined) throw new Obstacle("this benchmark needs nginx");
  const folder = mkdtempSync(join(tmpdir(), "colonnade-nginx-"));
  const codeBytes = {};
  for (const [path, content] of Object.entries(code)) {
    const file = join(folder, "code", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    const compressed = gzipSync(content, { level: 9 });
    writeFileSync(`${file}.gz`, compressed);
    codeBytes[path] = compressed.length;
  }
  const port = await freePort();
  writeFileSync(join(folder, "nginx.conf"), configuration(folder, port, files));
  const child = spawn(
    program,
    ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")],
    {
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const close = () => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const origin = `http://127.0.0.1:${port}`;
  for (let waitedMs = 0; ; waitedMs += 50) {
    const response = await fetch(origin, { method: "HEAD" }).catch(() => undefined);
    if (response !== undefined) break;
    if (waitedMs > MAX_START_MS || child.exitCode !== null) {
      const reason = readFileSync(join(folder, "error.log"), "utf8");
      close();
      throw new Error(`nginx does not start: ${reason}`);
    }
    await wait(50);
  }
  return { origin, port, codeBytes, close };
}

function configuration(folder, port, files) {
  const places = Object.entries(files).map(
    ([path, file]) => `location = ${path} { alias "${file}"; gzip_static off; }`,
  );
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  );
  return `daemon off;
master_process off;
pid ${join(folder, "pid")};
events {}
http {
  types { text/html html; text/javascript js mjs; text/css css; application/wasm wasm; }
  default_type application/octet-stream;
  access_log off;
  sendfile on;
  tcp_nopush on;
  ${temporary.join("\n  ")}
  server {
    listen 127.0.0.1:${port};
    root ${join(folder, "code")};
    gzip_static on;
    ${places.join("\n    ")}
  }
}
`;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
