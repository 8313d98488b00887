import type { Backend } from '../backend/backend.ts'
import { fault, unavailable } from '../errors.ts'
import type { BackendName } from '../backend-name.ts'

/** The backend of that name. @throws BACKEND_UNAVAILABLE when nothing can be asked of it */
export function getBackend(backends: ReadonlyMap<BackendName, Backend>, name: BackendName): Backend {
  const backend = backends.get(name)
  if (backend?.isAvailable === true) return backend
  const remedy = '"workspace doctor" says what is missing'
  if (backend === undefined)
    throw fault('BACKEND_UNAVAILABLE', `backend ${name} is not enabled here; ${remedy}`)
  const why = backend.whyUnavailable ?? 'it does not answer'
  throw unavailable(`backend ${name} is not available: ${why}; ${remedy}`)
}
