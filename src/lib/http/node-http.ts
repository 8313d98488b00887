/** Parts of `node:http`. Importing that by name also loads the WebSocket that it names: 25 ms of each program's start (Node 24). */
export const { Agent, createServer, request, ServerResponse, STATUS_CODES } =
  process.getBuiltinModule('node:http')

/** What sends a request to a URL; the part of Node that speaks TLS is loaded where one asks for it. */
export function requestFor({ protocol }: URL): typeof request {
  return protocol === 'https:' ? process.getBuiltinModule('node:https').request : request
}
