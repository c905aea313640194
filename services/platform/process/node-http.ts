/** Node's module for HTTP, without what this program does not use of it. */

/**
 * `node:http`. The statement `import` evaluates all exports of a module, and of this one also WebSocket, with which Node
 * loads its whole client for `fetch`: 13 MiB of each process.
 */
export const nodeHttp: typeof import("node:http") = process.getBuiltinModule("node:http");
