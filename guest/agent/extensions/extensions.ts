import { PING } from '../../../src/lib/envelope/envelope.ts'
import {
  type ExtensionHealth,
  type ExtensionManifest,
  MAX_EXTENSIONS,
} from '../../../src/lib/guest/extension.ts'
import { isExtensionName } from '../../../src/lib/guest/extension-name.ts'
import type { Uplink } from '../bus/uplink.ts'
import { addToEnvironment } from '../image-config.ts'

const HEARTBEAT_MS = 15_000
/** Delay of the second report; at the first, services and listeners are still starting. */
const SECOND_HEARTBEAT_MS = 2_000
const PING_TIMEOUT_MS = 2_000

/** The init system's services, as far as extensions use them. */
export interface Services {
  readonly start: (unit: string) => Promise<void>
  /** Returns the state of each unit. */
  readonly states: (units: readonly string[]) => Promise<readonly string[]>
}

/** Dependencies of `Extensions`. */
export interface ExtensionParts {
  readonly readManifest: (namespace: string) => ExtensionManifest | undefined
  readonly services: Services
}

/** Runs the extensions that the host enables, as described by their manifests, until the machine stops. */
export class Extensions {
  readonly #parts: ExtensionParts
  readonly #uplink: Pick<Uplink, 'request' | 'reportHealth'>
  /** Manifests by namespace; undefined if the image has no usable one. */
  readonly #active = new Map<string, ExtensionManifest | undefined>()
  #beating: NodeJS.Timeout | undefined

  constructor(parts: ExtensionParts, uplink: Pick<Uplink, 'request' | 'reportHealth'>) {
    this.#parts = parts
    this.#uplink = uplink
  }

  /** Starts the extensions that are not active yet and stops none. Resolves when all were started and reported to the host. */
  async enable(namespaces: unknown): Promise<void> {
    const names = (Array.isArray(namespaces) ? namespaces : []).filter(isExtensionName)
    for (const namespace of names.slice(0, MAX_EXTENSIONS)) {
      if (this.#active.get(namespace) !== undefined) continue
      const manifest = this.#parts.readManifest(namespace)
      this.#active.set(namespace, manifest)
      if (manifest === undefined) continue
      addToEnvironment(manifest.environment)
      await this.#parts.services.start(manifest.unit)
    }
    if (this.#active.size === 0) return
    clearTimeout(this.#beating)
    await this.#beat(SECOND_HEARTBEAT_MS)
  }

  close(): void {
    clearTimeout(this.#beating)
    this.#active.clear()
  }

  async #beat(nextMs: number): Promise<void> {
    this.#uplink.reportHealth(await this.#health())
    if (this.#active.size === 0) return
    clearTimeout(this.#beating)
    this.#beating = setTimeout(() => void this.#beat(HEARTBEAT_MS), nextMs)
  }

  async #health(): Promise<readonly ExtensionHealth[]> {
    const manifests = [...this.#active.values()].filter((each) => each !== undefined)
    const states =
      manifests.length === 0 ? [] : await this.#parts.services.states(manifests.map(({ unit }) => unit))
    return Promise.all(
      [...this.#active].map(async ([namespace, manifest]) => {
        const state = manifest === undefined ? 'missing' : (states[manifests.indexOf(manifest)] ?? 'unknown')
        return { namespace, guest: state, host: (await this.#ping(namespace)) ? 'connected' : 'disconnected' }
      }),
    )
  }

  /** Whether the extension's listener on the host responds. */
  #ping(namespace: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#uplink.request(
        namespace,
        { operation: PING },
        { onAnswer: () => resolve(true), fail: () => resolve(false) },
        PING_TIMEOUT_MS,
      )
    })
  }
}
