import type { AccessLevel } from '../../../access-level.ts'

/**
 * The right that a request requires on a server with several users: a level for the workspace in its path, an identity (`user`;
 * lists then show what the user may see), an own identity or an administrator (`self`), or an administrator.
 */
export type Right = AccessLevel | 'user' | 'self' | 'administrator'

/** The rights of all routes. A route that is missing here requires an administrator. */
const ROUTE_RIGHTS: Readonly<Record<string, Right>> = {
  'GET /api/info': 'user',
  'GET /api/ssh-host-key': 'user',
  'GET /api/templates': 'user',
  'GET /openapi.json': 'user',
  'GET /reference': 'user',
  'GET /reference/*': 'user',

  'GET /api/workspaces': 'user',
  'GET /api/events': 'user',
  'GET /api/sessions': 'user',
  'GET /api/usage': 'user',
  // The handlers ask who may create what.
  'POST /api/workspaces': 'user',
  'POST /api/workspaces/import': 'user',

  'GET /api/workspaces/:name': 'read',
  'GET /api/workspaces/:name/timeline': 'read',
  'GET /api/workspaces/:name/ports': 'read',
  'GET /api/workspaces/:name/ports/:port/wait': 'read',
  'GET /api/workspaces/:name/sessions': 'read',
  'GET /api/workspaces/:name/logs': 'read',
  'GET /api/workspaces/:name/egress': 'read',
  'GET /api/workspaces/:name/access': 'read',
  'GET /api/workspaces/:name/checkpoints': 'read',

  'POST /api/workspaces/:name/start': 'use',
  'POST /api/workspaces/:name/passes': 'use',
  'POST /api/workspaces/:name/exec': 'use',
  'GET /api/workspaces/:name/processes': 'use',
  'POST /api/workspaces/:name/processes': 'use',
  'GET /api/workspaces/:name/processes/:id': 'use',
  'GET /api/workspaces/:name/processes/:id/output': 'use',
  'POST /api/workspaces/:name/processes/:id/input': 'use',
  'POST /api/workspaces/:name/processes/:id/signal': 'use',
  'GET /api/workspaces/:name/files': 'use',
  'PUT /api/workspaces/:name/files': 'use',
  'DELETE /api/workspaces/:name/files': 'use',
  'GET /api/workspaces/:name/files/watch': 'use',
  'GET /api/workspaces/:name/files/list': 'use',
  'GET /api/workspaces/:name/files/stat': 'use',
  'GET /api/workspaces/:name/files/archive': 'use',
  'PUT /api/workspaces/:name/files/archive': 'use',
  'POST /api/workspaces/:name/files/directory': 'use',
  'POST /api/workspaces/:name/files/move': 'use',
  'POST /api/workspaces/:name/code': 'use',
  'GET /api/workspaces/:name/code/contexts': 'use',
  'POST /api/workspaces/:name/code/contexts': 'use',
  'DELETE /api/workspaces/:name/code/contexts/:id': 'use',
  'GET /api/workspaces/:name/terminal': 'use',
  'GET /api/workspaces/:name/connect/:port': 'use',
  'DELETE /api/workspaces/:name/sessions/:session': 'use',

  'PATCH /api/workspaces/:name': 'manage',
  'DELETE /api/workspaces/:name': 'manage',
  'POST /api/workspaces/:name/rename': 'manage',
  'POST /api/workspaces/:name/fork': 'manage',
  'POST /api/workspaces/:name/checkpoints': 'manage',
  'DELETE /api/workspaces/:name/checkpoints/:id': 'manage',
  'POST /api/workspaces/:name/rewind': 'manage',
  'POST /api/workspaces/:name/stop': 'manage',
  'POST /api/workspaces/:name/suspend': 'manage',
  'POST /api/workspaces/:name/reset': 'manage',
  'GET /api/workspaces/:name/export': 'manage',
  'PUT /api/workspaces/:name/access': 'manage',

  'GET /api/users/:user': 'self',
  'POST /api/users/:user/keys': 'self',
  'DELETE /api/users/:user/keys': 'self',
  'POST /api/users/:user/tokens': 'self',
  'DELETE /api/users/:user/tokens/:id': 'self',
}

/** Returns what a request requires. @param route the route's pattern */
export function rightOf(method: string, route: string): Right {
  const key = `${method === 'HEAD' ? 'GET' : method} ${route}`
  return Object.hasOwn(ROUTE_RIGHTS, key) ? (ROUTE_RIGHTS[key] ?? 'administrator') : 'administrator'
}
