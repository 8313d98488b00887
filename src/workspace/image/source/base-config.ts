import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packageRoot } from '../../../lib/process/package.ts'
import type { ImageConfig } from './rootfs-source.ts'

/**
 * Returns the base image's settings, from the Dockerfile lines that the container image is built with as
 * well.
 */
export async function readBaseConfig(): Promise<ImageConfig> {
  const lines = (await readFile(join(packageRoot, 'scripts', 'image', 'config'), 'utf8')).split('\n')
  const valuesOf = (word: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1).trim())
  const environment = valuesOf('ENV').map((line) => {
    const [name = '', ...value] = line.split('=')
    return [name, value.join('=')] as const
  })
  return {
    user: valuesOf('USER').at(-1) ?? '',
    workDir: valuesOf('WORKDIR').at(-1) ?? '',
    environment: Object.fromEntries(environment),
  }
}
