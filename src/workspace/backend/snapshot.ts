import type { BackendName } from '../backend-name.ts'

/** A copy of a stopped workspace's own disk, of which new workspaces can be made. */
export interface Snapshot {
  readonly name: string
  readonly backend: BackendName
  readonly sourceWorkspace: string
  /** The image as the workspace named it. */
  readonly sourceImage: string
  /** The image that the disk lies above; it is pinned as long as the snapshot is there. */
  readonly lowerDigest: string
  /** Whether that image is here. */
  readonly isLowerCached: boolean
  /** What it takes on disk; blocks that it shares with others count whole. */
  readonly sizeBytes: number
  readonly createdAt: Date
  readonly comment: string
  /** Why nothing but its name is known; '' for one that can be used. */
  readonly failure: string
}

/** What a backend can do with snapshots. Names have been checked, and one thing at a time is done to a snapshot. */
export interface Snapshots {
  readonly list: () => Promise<readonly Snapshot[]>
  /** Undefined when there is none of that name; one that cannot be read is there. */
  readonly find: (name: string) => Promise<Snapshot | undefined>
  /** Copies a stopped workspace's disk. @throws BACKEND_ERROR with nothing left of it */
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
