import type { Backend } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { BackendName } from '../backend-name.ts'

/** The backend of that name. @throws BACKEND_UNAVAILABLE when nothing can be asked of it */
export function getBackend(backends: ReadonlyMap<BackendName, Backend>, name: BackendName): Backend {
  const backend = backends.get(name)
  if (backend?.isAvailable === true) return backend
  const why = backend === undefined ? 'is not enabled here' : 'does not answer'
  throw fault('BACKEND_UNAVAILABLE', `backend ${name} ${why}; "workspace doctor" says what is missing`)
}
