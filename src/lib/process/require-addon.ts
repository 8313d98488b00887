import { defineFaults } from '../errors/fault.ts'
import { loadAddon, missingAddonMessage } from '../../native/load.ts'

const addonFault = defineFaults({ NATIVE_ADDON_MISSING: 'unavailable' })

/**
 * Checks that the native addon is available, for programs that require it. Call it before anything else starts.
 *
 * @throws NATIVE_ADDON_MISSING with the command that builds it
 */
export function requireAddon(program: string): void {
  const loaded = loadAddon()
  if (loaded.is === 'absent')
    throw addonFault('NATIVE_ADDON_MISSING', missingAddonMessage(program, loaded.reason))
}
