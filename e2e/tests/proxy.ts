import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A cut of a connection after `at` bytes of responses, counted over all connections. */
export interface Cut {
  at: number;
  /**
   * How the connection ends: with FIN, or with RST as if the machine had failed. With `hold` it does not
   * end: it only stalls until `meanwhile` resolves.
   */
  by: "fin" | "reset" | "hold";
  /** Runs before the client's connection is cut or continues. */
  meanwhile?: () => Promise<void>;
}

/** A promise, and the function that fulfils it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A TCP proxy that cuts or holds connections after given numbers of bytes. */
export class CuttingProxy {
  /** The remaining cuts, sorted by `at`. */
  cuts: Cut[] = [];
  /** The number of connections that the server refused because it was not running. */
  numRefused = 0;
  /** Holds a connection's request bytes after the first `at` of them until `opened` resolves. */
  requestHold: { at: number; opened: Promise<void> } | undefined;
  /** The origin of the server; a server that replaces another one may have another port. */
  target: string;
  #numBytes = 0;
  readonly #held = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #listener: Server;

  private constructor(target: string) {
    this.target = target;
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

  /** The number of bytes of responses so far. */
  get numBytes(): number {
    return this.#numBytes;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const closed = once(this.#listener, "close");
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(client: Socket): void {
    const { hostname, port } = new URL(this.target);
    const server = connect(Number(port), hostname);
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
      socket.on("drain", () => {
        if (!this.#held.has(other)) other.resume();
      });
    }
    let numAsked = 0;
    const ask = (bytes: Buffer): void => {
      const numLeft = (this.requestHold?.at ?? Number.POSITIVE_INFINITY) - numAsked;
      const passed = bytes.subarray(0, Math.max(0, numLeft));
      numAsked += passed.length;
      if (!server.write(passed)) client.pause();
      if (passed.length === bytes.length) return;
      this.#hold(client, this.requestHold?.opened, () => {
        this.requestHold = undefined;
        ask(bytes.subarray(passed.length));
      });
    };
    client.on("data", ask);
    const answer = (bytes: Buffer): void => {
      const [cut] = this.cuts;
      const numLeft = cut === undefined ? Number.POSITIVE_INFINITY : cut.at - this.#numBytes;
      const passed = bytes.subarray(0, Math.max(0, numLeft));
      this.#numBytes += passed.length;
      if (!client.write(passed)) server.pause();
      if (cut === undefined || numLeft > bytes.length) return;
      this.cuts.shift();
      if (cut.by === "hold") {
        this.#hold(server, cut.meanwhile?.(), () => answer(bytes.subarray(passed.length)));
        return;
      }
      server.removeAllListeners("data");
      server.removeAllListeners("close");
      // Stop reading, so that the server's further bytes are not forwarded.
      server.pause();
      void this.#cut(cut, client, server);
    };
    server.on("data", answer);
  }

  /** Reads nothing from `socket` until `opened` resolves, and then continues with `next`. */
  #hold(socket: Socket, opened: Promise<void> | undefined, next: () => void): void {
    socket.pause();
    this.#held.add(socket);
    void Promise.resolve(opened).then(() => {
      this.#held.delete(socket);
      if (socket.destroyed) return;
      // The rest may be held again.
      socket.resume();
      next();
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
