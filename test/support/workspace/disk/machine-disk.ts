import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { walkTrees } from '../../../../src/native/files/disk.ts'
import type { Walker } from '../../../../src/workspace/disk/walker.ts'
import { ImageStore } from '../../../../src/workspace/image/image-store.ts'
import type { Metadata } from '../../../../src/workspace/backend/microvm/files/metadata.ts'
import type { SnapshotRecord } from '../../../../src/workspace/backend/microvm/files/snapshot-record.ts'
import { newMetadata } from '../../../../src/workspace/backend/microvm/plan-machine.ts'
import { backendCreate } from '../backend/backend-create.ts'
import { storeImage } from '../machine/images.ts'
import { MACHINE_SETTINGS } from '../machine/machine-metadata.ts'
import { tempDir } from '../../temp-dir.ts'
import { startWorkspaceServer, type TestServer, type TestServerOptions } from '../server/test-server.ts'

/** An hour in milliseconds. */
export const HOUR_MS = 3_600_000

/** Walks in this process: starting another takes longer than most of these tests. */
const HERE: Walker = { walk: walkTrees, close: () => Promise.resolve() }

/** Files of VMs that never ran, as a server finds them. */
export class MachineDisk {
  readonly root: string
  readonly #backend: 'qemu' | 'vz' | 'firecracker'

  constructor(backend: 'qemu' | 'vz' | 'firecracker' = 'qemu', root = join(tempDir(), 'machines')) {
    this.root = root
    this.#backend = backend
    for (const directory of ['instances', 'uppers', 'snapshots'])
      mkdirSync(join(root, directory), { recursive: true })
  }

  at(...parts: readonly string[]): string {
    return join(this.root, ...parts)
  }

  /** Adds a stopped VM that has not changed for the given time. */
  machine(name: string, { ageMs = 0, ...known }: Partial<Metadata> & { readonly ageMs?: number } = {}): void {
    mkdirSync(this.at('instances', name), { recursive: true })
    this.upper(name)
    const request = backendCreate(name, 'base', { createdAt: new Date('2026-01-01T00:00:00.000Z') })
    const defaults = { cpus: 1, memoryMb: 512, upperBytes: 2 ** 30 }
    const metadata: Metadata = {
      ...newMetadata(request, `sha256:${'0'.repeat(64)}`, defaults),
      id: '0a0b0c0d',
      isFormatted: true,
      ...known,
    }
    this.metadata(name, JSON.stringify(metadata), ageMs)
  }

  metadata(name: string, text: string, ageMs = 0): void {
    const file = this.at('instances', name, 'metadata.json')
    writeFileSync(file, text)
    this.age(file, ageMs)
  }

  age(file: string, ageMs: number): void {
    const then = new Date(Date.now() - ageMs)
    utimesSync(file, then, then)
  }

  /** Adds a complete snapshot or checkpoint. */
  snapshot(name: string, digest = MACHINE_SETTINGS.digest, parent = 'snapshots'): void {
    mkdirSync(this.at(parent, name), { recursive: true })
    const record: SnapshotRecord = { ...MACHINE_SETTINGS, name, sourceWorkspace: 'demo', comment: '', digest }
    writeFileSync(this.at(parent, name, 'snapshot.json'), JSON.stringify(record))
  }

  /** Creates a sparse disk with a few bytes of content. */
  upper(name: string, bytes = 8192): void {
    mkdirSync(this.at('uppers', name), { recursive: true })
    const file = this.at('uppers', name, 'upper.ext4')
    writeFileSync(file, Buffer.alloc(bytes, 'x'))
    truncateSync(file, 2 ** 24)
  }

  console(name: string, content: string | Buffer): string {
    const file = this.at('instances', name, 'console.log')
    writeFileSync(file, content)
    return file
  }

  images(): Promise<ImageStore> {
    return ImageStore.open({
      root: this.#backend === 'vz' ? this.root : this.at('images'),
      pinnedDigests: () => Promise.resolve(new Set()),
    })
  }

  async image(content: string, tag?: string): Promise<string> {
    return (await storeImage(await this.images(), content, tag)).digest
  }

  has(...parts: readonly string[]): boolean {
    return existsSync(this.at(...parts))
  }

  /** Starts a server that owns these VMs. */
  async serve(
    settings: Readonly<Record<string, unknown>> = {},
    options: TestServerOptions = {},
  ): Promise<TestServer> {
    const runDir = mkdtempSync('/tmp/vm-')
    onTestFinished(() => rmSync(runDir, { recursive: true, force: true }))
    const server = await startWorkspaceServer({
      walker: HERE,
      ...options,
      settings: {
        enabled_backends: [this.#backend],
        default_backend: this.#backend,
        default_image: 'base',
        vm: { run_dir: runDir },
        [this.#backend]: { root: this.root },
        ssh: { processes: 0 },
        ...settings,
      },
    })
    onTestFinished(() => server.stop())
    return server
  }
}

/** Returns names, kinds and contents of everything below a directory as one text. */
export function fingerprint(directory: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted()
  for (const entry of entries) {
    const stat = lstatSync(join(directory, entry))
    hash.update(`${entry} ${stat.mode} ${stat.size}\n`)
    if (stat.isFile()) hash.update(readFileSync(join(directory, entry)))
  }
  return `${entries.length} ${hash.digest('hex')}`
}
