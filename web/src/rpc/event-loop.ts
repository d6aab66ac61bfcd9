/** Resolves in a new task, so that pending messages, input and frames come first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** Resolves when the next frame has been painted, which is when the one after it begins. */
export async function framePainted(): Promise<void> {
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
}

/** Whether `promise` settles, either way, before `waitMs` have passed. */
export function settlesWithin(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = () => resolve(true);
    promise.then(settle, settle);
    setTimeout(() => resolve(false), waitMs);
  });
}
