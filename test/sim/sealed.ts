/**
 * Keeps a simulated run away from the real world: a call of a real timer, clock, random source, socket or promise ends
 * it.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import timers from "node:timers";
import { promiseHooks } from "node:v8";

const DICE = ["randomBytes", "randomInt", "randomUUID", "randomFill", "randomFillSync"] as const;
const TIMERS = ["setTimeout", "setInterval", "setImmediate"] as const;

/** The sealed functions, each by its owner and its name. */
const FORBIDDEN: readonly (readonly [owner: object, name: string])[] = [
  ...[...TIMERS, "queueMicrotask"].map((name) => [globalThis, name] as const),
  ...TIMERS.map((name) => [timers, name] as const),
  ...["nextTick", "hrtime", "uptime"].map((name) => [process, name] as const),
  ...["randomUUID", "getRandomValues"].map((name) => [Object.getPrototypeOf(globalThis.crypto), name] as const),
  ...DICE.map((name) => [crypto, name] as const),
  [Date, "now"],
  [performance, "now"],
  [Math, "random"],
  [Socket.prototype, "connect"],
];

/** Runs a function that must use only virtual time and seeded chance. */
export function sealed<T>(run: () => T): T {
  const opened = FORBIDDEN.map(([owner, name]) => replaced(owner, name, forbid(name)));
  opened.push(replaced(globalThis, "Date", DATED));
  syncBuiltinESMExports();
  let promised: Error | null = null;
  // A promise settles on the real event loop, in an order that no seed could repeat. A hook must not throw.
  const unhook = promiseHooks.onInit(() => {
    promised ??= touched("a promise");
  });
  try {
    const outcome = run();
    if (promised !== null) throw promised;
    return outcome;
  } finally {
    unhook();
    for (const restore of opened) restore();
    syncBuiltinESMExports();
  }
}

/** `Date` for given instants; the present one is out of reach. */
const DATED = new Proxy(Date, {
  apply: () => {
    throw touched("Date()");
  },
  construct: (real, parts: unknown[]) => {
    if (parts.length > 0) return Reflect.construct(real, parts);
    // Croner reads the time even for a query about a given instant, and then uses only the given one.
    if (new Error("who").stack?.includes("/node_modules/croner/") === true) return Reflect.construct(real, [0]);
    throw touched("new Date()");
  },
});

function forbid(name: string): () => never {
  return () => {
    throw touched(name);
  };
}

function touched(what: string): Error {
  return new Error(`${what} of the real world was touched in a simulated run`);
}

function replaced(owner: object, name: string, value: unknown): () => void {
  const real = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (real === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, real);
  };
}
