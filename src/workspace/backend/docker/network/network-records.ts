import { readFile } from 'node:fs/promises'
import type { Static } from 'typebox'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { writeFileDurable } from '../../../../lib/fs/write-durable.ts'
import { KeyedLock } from '../../../../lib/process/keyed-lock.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'

const subnetSchema = Type.Object({
  /** In CIDR notation. */
  subnet: Type.String(),
  gateway: Type.String(),
})
const recordsSchema = Type.Record(Type.String(), subnetSchema)

/** Addresses of a network. */
export type Subnet = Readonly<Static<typeof subnetSchema>>

/** A file with the networks of one server by the keys of their limits: their rules are restored before the engine responds. */
export class NetworkRecords {
  readonly #file: string
  readonly #turns = new KeyedLock()

  constructor(file: string) {
    this.#file = file
  }

  /** Rejects when the file cannot be read. */
  async list(): Promise<ReadonlyMap<string, Subnet>> {
    const text = await readFile(this.#file, 'utf8').catch(ignoreMissing)
    const records = parseJson(recordsSchema, text ?? '{}')
    if (records === undefined) throw new Error(`${this.#file} is not valid; delete it`)
    return new Map(Object.entries(records))
  }

  /** Records a network, or without addresses that it no longer exists. */
  async set(key: string, subnet: Subnet | undefined): Promise<void> {
    await this.#turns.run('', async () => {
      const records = new Map(await this.list())
      const before = records.get(key)
      if (before?.subnet === subnet?.subnet && before?.gateway === subnet?.gateway) return
      if (subnet === undefined) records.delete(key)
      else records.set(key, subnet)
      await writeFileDurable(this.#file, `${JSON.stringify(Object.fromEntries(records))}\n`, { mode: 0o600 })
    })
  }
}
