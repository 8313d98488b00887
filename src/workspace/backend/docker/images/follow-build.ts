import { isFault } from '../../../../lib/errors/fault.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import type { BuildLine } from '../../image-builds.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { LINES_FILE } from './build-archive.ts'
import { sendArchive } from './send-archive.ts'

/** Directory of the host in which the engine has the files of an image. */
const HOST_PATH = /\/[^\s:]*\/(?:merged|rootfs)(?=[/:\s])/g

/**
 * Has the engine's builder follow lines. Returns the image's identifier.
 *
 * @param archive the lines and the files that they copy
 * @throws Error with a sentence that names the line that failed
 */
export async function followBuild(
  engine: DockerEngine,
  archive: AsyncGenerator<Buffer>,
  build: {
    readonly lines: readonly BuildLine[]
    readonly arguments: Readonly<Record<string, string>>
    readonly labels: Readonly<Record<string, string>>
    readonly isCached: boolean
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
  },
): Promise<string> {
  let id = ''
  let step = 0
  try {
    await sendArchive(engine, 'building the image', archive, {
      send: (content, abortSignal) =>
        engine.docker.buildImage(content, {
          dockerfile: LINES_FILE,
          buildargs: build.arguments,
          labels: build.labels,
          // No line needs a network.
          networkmode: 'none',
          nocache: !build.isCached,
          forcerm: true,
          abortSignal,
        }),
      onEvent: ({ stream = '', aux }) => {
        id = aux?.ID ?? id
        step = Number(/^Step (\d+)\//.exec(stream)?.[1] ?? step)
      },
      signal: build.signal,
    })
  } catch (error) {
    if (!isFault(error) || error.code === 'BACKEND_UNAVAILABLE') throw error
    throw errorOf(error, build.lines, step, build.progress)
  }
  if (id === '') throw new Error('the engine did not name the image that it built')
  return id
}

/**
 * Returns an error that names the line of the Dockerfile, either by the step that failed or by the builder's own number.
 * It does not have the values of variables, which may be secrets (W12); those are reported as progress.
 */
function errorOf(
  error: Error,
  lines: readonly BuildLine[],
  step: number,
  progress: (message: string) => void,
): Error {
  const [, number, rest] = /parse error (?:on )?line (\d+): (.*)$/s.exec(error.message) ?? []
  // The builder's first line is the directive.
  const { line, text = '' } = (number === undefined ? lines[step - 1] : lines[Number(number) - 2]) ?? {}
  const why = (rest ?? messageOf(error.cause ?? error))
    .replaceAll(LINES_FILE, 'the Dockerfile')
    .replaceAll(HOST_PATH, '')
  if (text.includes('$')) progress(`line ${line}: ${why}`)
  const shown = text.includes('$') ? `${text.split(' ', 1)[0]} failed with the values of its variables` : why
  return new Error(line === undefined ? shown : `line ${line}: ${shown}`, { cause: error })
}
