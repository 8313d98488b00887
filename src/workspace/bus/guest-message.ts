import type { ReceivedEnvelope } from '../../lib/envelope/envelope.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import type { BackendName } from '../backend-name.ts'

/**
 * The sender of a message, determined by its connection. Claims in the message itself are ignored (threat
 * B3).
 */
export interface ConnectedWorkspace {
  readonly name: string
  readonly backend: BackendName
  readonly server: string
}

/** A connected workspace and the last reported health of its extensions. */
export interface ConnectedGuest extends ConnectedWorkspace {
  readonly extensions: readonly ExtensionHealth[]
}

/** A message and the workspace that sent it. */
export interface GuestMessage {
  readonly envelope: ReceivedEnvelope
  readonly workspace: ConnectedWorkspace
}
