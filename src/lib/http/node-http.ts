/** Parts of `node:http`. Importing it by name also loads its WebSocket: 25 ms of each program's startup (Node 24). */
export const { Agent, createServer, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')

/** Returns the request function for a URL; loads Node's TLS only for https. */
export function requestFor({ protocol }: URL): typeof request {
  return protocol === 'https:' ? process.getBuiltinModule('node:https').request : request
}
