import type { ImageInspectInfo } from 'dockerode'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { isFault } from '../../../../lib/errors/fault.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { fault } from '../../../errors.ts'
import { type DockerEngine, engineStatus } from '../engine/engine.ts'
import { progressEvents } from '../engine/progress-events.ts'
import type { PulledImages } from './pulled-images.ts'

const PROGRESS_EVERY_MS = 1_000

/** Error texts of engines about a registry that may respond later. There is no code for it. */
const UNREACHABLE =
  /dial tcp|no such host|i\/o timeout|connection re(?:fused|set)|handshake timeout|network is unreachable|Client\.Timeout|deadline exceeded|toomanyrequests|status: 50[234]/

/**
 * Pulls an image, reporting progress about once a second.
 *
 * @throws INVALID_REQUEST when the engine cannot parse the reference
 * @throws REGISTRY_UNAVAILABLE when a retry may help
 * @throws BACKEND_ERROR with the registry's answer otherwise
 */
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
  if (!isReference(image)) throw notReference(image)
  const before = pulled && (await findImage(engine, image))?.Id
  progress(`pulling image ${image}`)
  try {
    await engine.call(
      `pulling image ${image}`,
      async (abortSignal) => {
        const stream = await engine.docker.pull(image, { abortSignal })
        const layers = new Map<string, string>()
        let shownAtMs = performance.now()
        for await (const { id, status } of progressEvents(stream)) {
          if (id !== undefined) layers.set(id, status ?? '')
          if (performance.now() - shownAtMs < PROGRESS_EVERY_MS) continue
          shownAtMs = performance.now()
          const done = [...layers.values()].filter((each) => each === 'Pull complete').length
          progress(`pulling image ${image}: ${done} of ${layers.size} layers`)
        }
      },
      { deadlineMs: 0, signal },
    )
  } catch (error) {
    if (signal.aborted || (isFault(error) && error.code === 'BACKEND_UNAVAILABLE')) throw error
    const why = messageOf(error).trim()
    if (UNREACHABLE.test(why))
      throw fault(
        'REGISTRY_UNAVAILABLE',
        `image ${image} is not on this machine, and pulling it failed: the registry cannot be reached; "workspace image ls" lists the local images`,
        error,
      )
    throw fault('BACKEND_ERROR', `image ${image} is not on this machine, and ${why}`, error)
  }
  const after = pulled && (await findImage(engine, image))?.Id
  if (after !== undefined)
    await pulled?.add(after, before).catch(ignore('an image without a record is never deleted'))
}

/**
 * Returns whether a text is a reference in the engine's grammar: registry host, path, tag, digest
 * (https://pkg.go.dev/github.com/distribution/reference). Any other text must not become part of an API path:
 * the engine answers an empty segment with a redirect, and following that crashes the process.
 */
export function isReference(text: string): boolean {
  return text.length <= 255 && REFERENCE.test(text)
}

const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?'
/** A first part without a dot or port belongs to the path, which is lower-case, unless it is `localhost`. */
const HOST = `(?:localhost|${LABEL}(?:\\.${LABEL})+|${LABEL}(?=:\\d))`
const PART = '[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*'
const REFERENCE = new RegExp(
  `^(?:${HOST}(?::\\d{1,5})?/)?${PART}(?:/${PART})*(?::\\w[\\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
)

function notReference(image: string) {
  return fault(
    'INVALID_REQUEST',
    `image ${JSON.stringify(image.slice(0, 80))} is not a valid image reference, such as debian:12 or ghcr.io/owner/name:tag`,
  )
}

/** Returns undefined when the engine does not have the image. */
export async function findImage(engine: DockerEngine, image: string): Promise<ImageInspectInfo | undefined> {
  try {
    return await engine.call(`inspecting image ${image}`, () => engine.docker.getImage(image).inspect())
  } catch (error) {
    if (engineStatus(error) === 404) return undefined
    throw error
  }
}

/** Splits a variable of an image's settings into name and value. */
export function splitVariable(text: string): [string, string] {
  const at = text.indexOf('=')
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
