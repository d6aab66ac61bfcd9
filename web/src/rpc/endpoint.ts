import type { Message } from "./messages.js";

/** The part of Worker, MessagePort and a worker's own scope that requests go through. */
export interface Endpoint {
  postMessage(message: Message, transfer: Transferable[]): void;
  addEventListener(
    type: "message" | "messageerror",
    listener: (event: MessageEvent<Message>) => void,
  ): void;
  /** A port delivers no message before this call. */
  start?(): void;
}
