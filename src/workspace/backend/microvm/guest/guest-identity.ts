import { createHash, randomBytes } from 'node:crypto'
import type { GuestSetting } from '../../../../lib/guest/protocol.ts'
import type { Metadata } from '../files/metadata.ts'
import { macOf } from '../network/network.ts'

const ENTROPY_BYTES = 64

/** Returns a VM's machine id: otherwise all VMs created from one image or snapshot would have the same. */
export function machineIdOf(id: string): string {
  return createHash('sha256').update(`machine ${id}`).digest('hex').slice(0, 32)
}

/** Returns how a guest identifies itself: by a new token, unless its agent continues with the one it has. */
export function guestIdentity({
  id,
  memory,
}: Pick<Metadata, 'id' | 'memory'>): Pick<GuestSetting, 'agentToken' | 'fork'> {
  const agentToken = randomBytes(24).toString('base64url')
  if (memory == null) return { agentToken }
  if (memory.copyOf === undefined) return { agentToken: memory.agentToken }
  const entropy = randomBytes(ENTROPY_BYTES).toString('base64')
  const mac = { from: macOf(memory.copyOf), to: macOf(id) }
  return { agentToken, fork: { entropy, machineId: machineIdOf(id), mac } }
}
