/** Keeps a simulated run away from the real world: whoever touches a real timer, clock, die or socket throws. */
import { Socket } from "node:net";

/** What is out of reach, each by its owner and its name. */
const FORBIDDEN: readonly (readonly [owner: object, name: string])[] = [
  ...["setTimeout", "setInterval", "setImmediate", "queueMicrotask"].map((name) => [globalThis, name] as const),
  [Date, "now"],
  [performance, "now"],
  [Math, "random"],
  [Socket.prototype, "connect"],
];

/** Runs something that must live on virtual time and seeded chance alone. */
export function sealed<T>(run: () => T): T {
  const opened = FORBIDDEN.map(([owner, name]) => {
    const real = Object.getOwnPropertyDescriptor(owner, name);
    const forbidden = (): never => {
      throw new Error(`${name} of the real world was touched in a simulated run`);
    };
    Object.defineProperty(owner, name, { value: forbidden, configurable: true, writable: true });
    return () => {
      if (real === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, real);
    };
  });
  try {
    return run();
  } finally {
    for (const restore of opened) restore();
  }
}
