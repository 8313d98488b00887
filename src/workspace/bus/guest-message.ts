import type { ReceivedEnvelope } from '../../lib/envelope/envelope.ts'
import type { ExtensionHealth } from '../../lib/guest/extension.ts'
import type { BackendName } from '../backend-name.ts'

/** Who a message is from, as the server knows it; what a guest says of itself is not heeded (threat B3). */
export interface ConnectedWorkspace {
  readonly name: string
  readonly backend: BackendName
  readonly server: string
}

/** A workspace that is there now, and what its agent last said of its extensions. */
export interface ConnectedGuest extends ConnectedWorkspace {
  readonly extensions: readonly ExtensionHealth[]
}

/** A message with the workspace that it is from. */
export interface GuestMessage {
  readonly envelope: ReceivedEnvelope
  readonly workspace: ConnectedWorkspace
}
