import { join } from 'node:path'
import { packageRoot } from '../../../../lib/process/package.ts'
import type { Check } from '../../../check.ts'
import { BASE_IMAGE } from '../../../workspace.ts'
import { DockerEngine, engineStatus } from './engine.ts'

/** Checks whether the engine responds, which engine it is, and whether it has the default image. */
export async function probeDocker(host: string | undefined, image: string): Promise<readonly Check[]> {
  const engine = new DockerEngine(host)
  await engine.open(() => undefined)
  try {
    const { Version, Os, Arch } = await engine.call('asking for the version', () => engine.docker.version())
    const answers = {
      name: 'docker',
      ok: true,
      found: `${Version} (${Os}/${Arch}) at ${engine.address}`,
      remedy: '',
    }
    return [answers, await probeImage(engine, image)]
  } catch {
    return [
      {
        name: 'docker',
        ok: false,
        found: `no engine responds at ${engine.address}`,
        remedy: 'run scripts/setup, or install and start Docker or Podman, or set docker.host',
      },
    ]
  } finally {
    await engine.close()
  }
}

async function probeImage(engine: DockerEngine, image: string): Promise<Check> {
  const name = 'default image'
  try {
    await engine.call('inspecting the image', () => engine.docker.getImage(image).inspect())
    return { name, ok: true, found: image, remedy: '' }
  } catch (error) {
    if (engineStatus(error) !== 404) throw error
    return {
      name,
      ok: false,
      found: `${image} is missing`,
      remedy: 'run scripts/setup, or set default_image',
      repair:
        image === BASE_IMAGE
          ? { argv: ['env', `DOCKER_HOST=${engine.address}`, join(packageRoot, 'scripts/base-image'), image] }
          : undefined,
    }
  }
}
