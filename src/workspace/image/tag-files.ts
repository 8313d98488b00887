import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { removeFileDurable, writeFileDurable } from '../../lib/fs/write-durable.ts'
import { isDigest, isTag } from './tag.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'

/** A tag and the image it refers to. */
export interface Tag {
  readonly tag: string
  readonly digest: string
  /** The Docker reference it was pulled from; '' for none. */
  readonly dockerRef: string
}

const tagSchema = Type.Object({ digest: Type.String(), dockerRef: Type.String() })

/**
 * Result of reading a tag's file. An unreadable tag may refer to any image and is never treated as absent.
 */
export type TagReading =
  ({ readonly is: 'valid' } & Tag) | { readonly is: 'unreadable'; readonly tag: string; readonly why: string }

/** Stores tags as one file each. Names have been validated. */
export class TagFiles {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async list(): Promise<readonly TagReading[]> {
    const names = (await readdir(this.#directory))
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
    const readings = await Promise.all(
      names
        .filter(isTag)
        .toSorted()
        .map((tag) => this.find(tag)),
    )
    return readings.filter((reading) => reading !== undefined)
  }

  /** Returns undefined when there is no such tag. */
  async find(tag: string): Promise<TagReading | undefined> {
    const path = this.#path(tag)
    try {
      const value = parseJson(tagSchema, await readFile(path, 'utf8'))
      return value !== undefined && isDigest(value.digest)
        ? { is: 'valid', tag, digest: value.digest, dockerRef: value.dockerRef }
        : { is: 'unreadable', tag, why: `${path} does not name a valid image` }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      return { is: 'unreadable', tag, why: `${path} is unreadable: ${messageOf(error)}` }
    }
  }

  async write({ tag, digest, dockerRef }: Tag): Promise<void> {
    await writeFileDurable(this.#path(tag), `${JSON.stringify({ digest, dockerRef })}\n`, { mode: 0o600 })
  }

  /** Removes a tag by name, even when its file is damaged. */
  async remove(tag: string): Promise<void> {
    await removeFileDurable(this.#path(tag))
  }

  #path(tag: string): string {
    return join(this.#directory, `${tag}.json`)
  }
}
