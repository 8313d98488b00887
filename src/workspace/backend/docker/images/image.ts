import { messageOf } from '../../../../lib/errors/message.ts'
import { fault } from '../../../errors.ts'
import { type DockerEngine, engineStatus } from '../engine/engine.ts'
import type { PulledImages } from './pulled-images.ts'

const PROGRESS_EVERY_MS = 1_000

/** Pulls an image, telling how far it is about once a second. @throws BACKEND_ERROR with the registry's answer */
export async function pullImage(
  engine: DockerEngine,
  image: string,
  work: {
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
    readonly pulled?: PulledImages | undefined
  },
): Promise<void> {
  const { progress, signal, pulled } = work
  const before = pulled && (await findImageId(engine, image))
  progress(`pulling image ${image}`)
  try {
    await engine.call(
      `pulling image ${image}`,
      async (abortSignal) => {
        const stream = await engine.docker.pull(image, { abortSignal })
        await new Promise<void>((resolve, reject) => {
          const layers = new Map<string, string>()
          let shownAtMs = performance.now()
          engine.docker.modem.followProgress(
            stream,
            (error) => (error ? reject(error) : resolve()),
            (event: { id?: string; status?: string }) => {
              if (event.id !== undefined) layers.set(event.id, event.status ?? '')
              if (performance.now() - shownAtMs < PROGRESS_EVERY_MS) return
              shownAtMs = performance.now()
              const done = [...layers.values()].filter((status) => status === 'Pull complete').length
              progress(`pulling image ${image}: ${done} of ${layers.size} layers`)
            },
          )
        })
      },
      { deadlineMs: 0, signal },
    )
  } catch (error) {
    if (signal.aborted) throw error
    const why = messageOf(error)
    throw fault('BACKEND_ERROR', `image ${image} is not here and cannot be had: ${why}`, error)
  }
  const after = pulled && (await findImageId(engine, image))
  // One that is not noted is never deleted, which is no reason to fail.
  if (after !== undefined) await pulled?.add(after, before).catch(() => undefined)
}

/** Undefined for an image that the engine has not. */
async function findImageId(engine: DockerEngine, image: string): Promise<string | undefined> {
  try {
    return (await engine.call(`inspecting image ${image}`, () => engine.docker.getImage(image).inspect())).Id
  } catch (error) {
    if (engineStatus(error) === 404) return undefined
    throw error
  }
}
