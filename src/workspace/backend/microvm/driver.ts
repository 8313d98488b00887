import type { BootImage } from '../../image/image-store.ts'
import type { ImageBackend } from '../../image/image-backend.ts'
import type { MachineProcess } from './monitor/machine-process.ts'
import type { MachineRun } from './files/metadata.ts'
import type { GuestAddress, NetworkPlan } from './network/network.ts'

/** A machine about to be started. */
export interface Machine {
  readonly id: string
  readonly name: string
  readonly image: BootImage
  readonly upper: string
  readonly cpus: number
  readonly memoryMb: number
  /** Empty, and short enough for sockets. */
  readonly socketDir: string
  /** What the guest's console prints is appended to it. */
  readonly consoleLog: string
  /** What the monitor itself says. */
  readonly monitorLog: string
  /** What the init inside wants to know, beside what the driver knows of its console and its clock. */
  readonly commandLine: readonly string[]
  readonly network: NetworkPlan
  /** A directory of the host's that the guest mounts by its tag. */
  readonly share: { readonly tag: string; readonly directory: string } | undefined
}

/** A machine that has been started; whether it boots is seen later. */
export interface StartedMachine {
  /** The monitor first, then its helpers. */
  readonly processes: readonly [MachineProcess, ...MachineProcess[]]
  readonly line: MachineRun['line']
}

/** Directories that machines' monitors see as the whole file system. */
export interface Jails {
  /** Takes a machine's jail away, where there is one. Its processes have ended. */
  readonly remove: (id: string) => Promise<void>
}

/** A network that needs no device of the host's. */
export interface UserNetwork {
  readonly address: GuestAddress | 'dhcp'
  /** Returns what it lacks on this machine, as a sentence with a remedy; undefined when nothing is missing. */
  readonly missing: () => Promise<string | undefined>
  /** Whether it applies a policy. One that does not is used only where the configuration asks for it by name. */
  readonly isIsolated: boolean
}

/** One program that runs virtual machines: what differs between them, and nothing else. */
export interface Driver {
  readonly name: ImageBackend
  /**
   * Where the guest's console goes: `appended` to console.log, which may then be cut at any time; `overwritten`, which may
   * not; or `output`, what the monitor itself says.
   */
  readonly console: 'appended' | 'overwritten' | 'output'
  /** How it connects guests to the outside without a device of the host's; undefined where it cannot. */
  readonly userNetwork: UserNetwork | undefined
  /** How a guest is told to end: some monitors have no power to switch off. */
  readonly endsBy: 'poweroff' | 'reboot'
  /** The number of the user that a machine's monitor becomes; undefined where it stays the server's own. */
  readonly userOf: (id: string) => number | undefined
  /** Undefined where machines have no files of a jail. */
  readonly jails: Jails | undefined
  /** What keeps it from running machines here, as a sentence that says what to do; undefined when nothing does. */
  readonly missing: () => Promise<string | undefined>
  /** Whether a host's directory can be given to machines here; a sentence where not. */
  readonly cannotShare: () => Promise<string | undefined>
  /** Starts a machine. @throws BACKEND_ERROR with nothing left running */
  readonly start: (machine: Machine, signal: AbortSignal) => Promise<StartedMachine>
  /** Presses its power button, as far as it has one; does nothing where it has none. */
  readonly pressPower: (at: { readonly socketDir: string }) => Promise<void>
  /** Whether a monitor that has ended did so because its machine had; undefined where that cannot be told. */
  readonly hasEndedInOrder: (at: { readonly socketDir: string }) => boolean | undefined
}
