import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A cut of a connection after `at` bytes of responses, counted over all connections. */
export interface Cut {
  at: number;
  /** How the connection ends: with FIN, or with RST as if the machine had failed. */
  by: "fin" | "reset";
  /** Runs before the client's connection is cut. */
  meanwhile?: () => Promise<void>;
}

/** A TCP proxy that cuts connections after given numbers of bytes. */
export class CuttingProxy {
  /** The remaining cuts, sorted by `at`. */
  cuts: Cut[] = [];
  /** The number of connections that the server refused because it was not running. */
  numRefused = 0;
  #numBytes = 0;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#listener = createServer((client) => this.#join(client));
  }

  /** Starts a proxy to the server with that origin, on a free loopback port. */
  static async start(target: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target);
    proxy.#listener.listen(0, "127.0.0.1");
    await once(proxy.#listener, "listening");
    return proxy;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const closed = once(this.#listener, "close");
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") this.numRefused++;
      });
      socket.on("end", () => other.end());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroySoon();
      });
      socket.on("drain", () => other.resume());
    }
    client.on("data", (bytes) => {
      if (!server.write(bytes)) client.pause();
    });
    server.on("data", (bytes) => {
      const [cut] = this.cuts;
      const numLeft = cut === undefined ? Number.POSITIVE_INFINITY : cut.at - this.#numBytes;
      const passed = bytes.subarray(0, Math.max(0, numLeft));
      this.#numBytes += passed.length;
      if (!client.write(passed)) server.pause();
      if (cut === undefined || numLeft > bytes.length) return;
      this.cuts.shift();
      server.removeAllListeners("data");
      server.removeAllListeners("close");
      // Stop reading, so that the server's further bytes are not forwarded.
      server.pause();
      void this.#cut(cut, client, server);
    });
  }

  async #cut(cut: Cut, client: Socket, server: Socket): Promise<void> {
    await cut.meanwhile?.();
    server.destroy();
    this.#sockets.delete(server);
    if (cut.by === "fin") client.end();
    else client.resetAndDestroy();
  }
}
