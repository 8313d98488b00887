import type { BackendName } from '../backend-name.ts'

/** A copy of a stopped workspace's disk, from which new workspaces can be created. */
export interface Snapshot {
  readonly name: string
  readonly backend: BackendName
  readonly sourceWorkspace: string
  /** The image by the workspace's name for it. */
  readonly sourceImage: string
  /** Digest of the image that the disk depends on, which stays pinned while the snapshot exists. */
  readonly lowerDigest: string
  /** Whether that image is available. */
  readonly isLowerCached: boolean
  /** Disk usage; shared blocks count in full. */
  readonly sizeBytes: number
  readonly createdAt: Date
  readonly comment: string
  /** Why the record is unreadable and only the name is known; '' for a usable snapshot. */
  readonly failure: string
}

/**
 * Snapshot operations of a backend. Names have been validated, and callers serialize the operations on one
 * snapshot.
 */
export interface Snapshots {
  readonly list: () => Promise<readonly Snapshot[]>
  /** Resolves to undefined when there is none of that name; an unreadable one is returned. */
  readonly find: (name: string) => Promise<Snapshot | undefined>
  /** Copies a stopped workspace's disk. @throws BACKEND_ERROR with nothing left behind */
  readonly take: (
    request: {
      readonly name: string
      readonly workspace: string
      readonly comment: string
      readonly createdAt: Date
    },
    signal: AbortSignal,
  ) => Promise<Snapshot>
  readonly remove: (name: string) => Promise<void>
}
