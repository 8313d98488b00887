import { defineFaults } from '../errors/fault.ts'
import { loadAddon, missingAddonMessage } from '../../native/load.ts'

const addonFault = defineFaults({ NATIVE_ADDON_MISSING: 'unavailable' })

/**
 * Checks that a program which cannot work without the native addon has it; called before anything else starts.
 *
 * @throws NATIVE_ADDON_MISSING with the command that builds it
 */
export function requireAddon(program: string): void {
  const loaded = loadAddon()
  if (loaded.is === 'absent')
    throw addonFault('NATIVE_ADDON_MISSING', missingAddonMessage(program, loaded.reason))
}
