import type { BootImage } from '../../image/image-store.ts'
import type { ImageBackend } from '../../image/image-backend.ts'
import type { MachineProcess } from './monitor/machine-process.ts'
import type { MachineRun } from './files/metadata.ts'
import type { GuestAddress, NetworkPlan } from './network/network.ts'

/** Memory of a suspended VM. */
export interface MachineMemory {
  /** File that contains it. */
  readonly path: string
  /** The monitor that wrote it, with its version and devices; only an equal one can load it. */
  readonly monitor: string
}

/** A VM to start. */
export interface Machine {
  readonly id: string
  readonly name: string
  readonly image: BootImage
  readonly upper: string
  readonly cpus: number
  readonly memoryMb: number
  /** An empty directory whose path is short enough for sockets. */
  readonly socketDir: string
  /** File to which the guest's console output is appended. */
  readonly consoleLog: string
  /** File of the monitor's own output. */
  readonly monitorLog: string
  /** Kernel arguments for the init inside, in addition to the driver's own for console and clock. */
  readonly commandLine: readonly string[]
  readonly network: NetworkPlan
  /** A host directory that the guest mounts by its tag. */
  readonly share: { readonly tag: string; readonly directory: string } | undefined
  /** Memory to load instead of booting; the VM then stays paused. */
  readonly memory: MachineMemory | undefined
}

/** A started VM; whether it boots becomes known later. */
export interface StartedMachine {
  /** The monitor first, then its helpers. */
  readonly processes: readonly [MachineProcess, ...MachineProcess[]]
  readonly line: MachineRun['line']
}

/** Directories that VM monitors see as the whole file system. */
export interface Jails {
  /** Removes a VM's jail, if it has one. Its processes have exited. */
  readonly remove: (id: string) => Promise<void>
}

/** A network that requires no device on the host. */
export interface UserNetwork {
  readonly address: GuestAddress | 'dhcp'
  /** Returns what is missing on this machine, as a sentence with a remedy; undefined when nothing is. */
  readonly missing: () => Promise<string | undefined>
  /**
   * Whether it enforces a network policy. A network that does not is used only if the configuration names it
   * explicitly.
   */
  readonly isIsolated: boolean
}

/** Saves the memory of VMs. */
export interface MemorySaver {
  /** Returns why a VM's memory cannot be saved, as a sentence with a remedy; undefined when it can. */
  readonly cannotSave: (machine: {
    readonly line: MachineRun['line']
    readonly isShared: boolean
  }) => string | undefined
  /**
   * Pauses a VM and writes its memory to a new file, durably. Returns the monitor's identity. On failure the VM
   * runs on and there is no file.
   */
  readonly save: (
    at: { readonly id: string; readonly socketDir: string; readonly line: MachineRun['line'] },
    path: string,
    mostBytes: number,
  ) => Promise<string>
  /** Pauses a VM once its pending disk writes are done. */
  readonly pause: (at: { readonly socketDir: string }) => Promise<void>
  /** Lets a paused VM run; does nothing when it is running. */
  readonly unpause: (at: { readonly socketDir: string }) => Promise<void>
}

/** A program that runs VMs: exactly what differs between such programs. */
export interface Driver {
  readonly name: ImageBackend
  /**
   * Destination of the guest's console: `appended` to console.log, which may then be truncated at any time;
   * `overwritten`, which may not; or `output`, the monitor's own output.
   */
  readonly console: 'appended' | 'overwritten' | 'output'
  /** Connects guests to the outside without a device on the host; undefined if unsupported. */
  readonly userNetwork: UserNetwork | undefined
  /** How a guest shuts down: some monitors cannot power off. */
  readonly shutdownBy: 'poweroff' | 'reboot'
  /** UID that a VM's monitor switches to; undefined when it stays the server's. */
  readonly userOf: (id: string) => number | undefined
  /** Names of the sockets that its helpers are given, by which those that were not recorded are found. */
  readonly helperSockets: readonly string[]
  /** Undefined when VMs have no jail. */
  readonly jails: Jails | undefined
  /** Undefined when the memory of VMs cannot be saved. */
  readonly memory: MemorySaver | undefined
  /** Returns why it cannot run VMs here, as a sentence with a remedy; undefined when it can. */
  readonly missing: () => Promise<string | undefined>
  /** Returns why host directories cannot be shared with VMs here; undefined when they can. */
  readonly cannotShare: () => Promise<string | undefined>
  /** Starts a VM. @throws BACKEND_ERROR with nothing left running */
  readonly start: (machine: Machine, signal: AbortSignal) => Promise<StartedMachine>
  /** Presses the VM's power button; does nothing when it has none. */
  readonly pressPower: (at: { readonly socketDir: string }) => Promise<void>
  /** Whether an exited monitor exited because its VM shut down; undefined when that cannot be determined. */
  readonly hasExitedCleanly: (at: { readonly socketDir: string }) => boolean | undefined
}
