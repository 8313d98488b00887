import type { Backend } from '../backend/backend.ts'
import { fault, unavailable } from '../errors.ts'
import type { BackendName } from '../backend-name.ts'

/** Returns a backend by name. @throws BACKEND_UNAVAILABLE when it is not enabled or does not respond */
export function getBackend(backends: ReadonlyMap<BackendName, Backend>, name: BackendName): Backend {
  const backend = backends.get(name)
  if (backend?.isAvailable === true) return backend
  const remedy = 'run "workspace doctor" to see what is missing'
  if (backend === undefined) throw fault('BACKEND_UNAVAILABLE', `backend ${name} is not enabled; ${remedy}`)
  const why = backend.whyUnavailable ?? 'it does not respond'
  throw unavailable(`backend ${name} is not available: ${why}; ${remedy}`)
}
