import { randomBytes } from 'node:crypto'
import type { ContainerCreateOptions } from 'dockerode'
import { ignore } from '../../../lib/errors/ignore.ts'
import { fault } from '../../errors.ts'
import { type ContainerLimits, NO_COPY } from './container.ts'
import { type DockerEngine, REMOVAL_DEADLINE_MS } from './engine/engine.ts'
import type { Labels } from './engine/labels.ts'

/** Keeps owners, modes, times, links, attributes and holes. Where `cp` is BusyBox's, holes and attributes are lost. */
const COPY = `
case $(cp --help 2>&1) in
  *--sparse*) exec cp -a --reflink=auto --sparse=always /from/. /to/ ;;
  *) exec cp -a /from/. /to/ ;;
esac`

/** Removes everything in a volume, one entry at a time: their number is not limited. */
const EMPTY = `
cd /to || exit
for entry in * .[!.]* ..?*; do rm -rf "./$entry" || exit; done
`

/** A copy of one volume to another. */
interface VolumeCopy {
  readonly from: string
  readonly to: string
  /** Whether the other volume is emptied first; otherwise it is new. */
  readonly isEmptied?: boolean
  /** Image of the workspace, whose `cp` runs: it is untrusted and confined like the workspace. */
  readonly image: string
  readonly labels: Labels
  readonly limits: ContainerLimits | undefined
}

/**
 * Copies a volume in a container without a network, with the rights and limits of a workspace. Links are copied and never
 * followed, because nothing else has either volume.
 *
 * @throws BACKEND_ERROR when the copy fails; a partial copy stays
 */
export async function copyVolume(engine: DockerEngine, copy: VolumeCopy, signal: AbortSignal): Promise<void> {
  // Its name is known before it exists: an aborted creation may be completed.
  const name = `${copy.to}_${randomBytes(8).toString('hex')}`
  const container = engine.docker.getContainer(name)
  try {
    await engine.make('creating a helper for the copy', signal, (abortSignal) =>
      engine.docker.createContainer({ ...helperOptions(copy), name, abortSignal }),
    )
    await engine.make('starting the copy', signal, (abortSignal) => container.start({ abortSignal }))
    const { StatusCode } = (await engine.call(
      'copying the volume',
      (abortSignal) => container.wait({ abortSignal }),
      { deadlineMs: 0, signal },
    )) as { StatusCode: number }
    if (StatusCode === 0) return
    const log = await container.logs({ stdout: true, stderr: true, follow: false, tail: 1 })
    throw fault('BACKEND_ERROR', `the files cannot be copied: ${messageIn(log, StatusCode)}`)
  } finally {
    await engine
      .call('removing the helper', (abortSignal) => container.remove({ force: true, abortSignal }), {
        deadlineMs: REMOVAL_DEADLINE_MS,
      })
      .catch(ignore('one that stays is removed when the engine is connected the next time'))
  }
}

function helperOptions({ from, to, isEmptied, image, labels, limits }: VolumeCopy): ContainerCreateOptions {
  const memoryMb = limits?.memoryMb ?? 0
  return {
    Image: image,
    Entrypoint: ['/bin/sh', '-c', isEmptied === true ? `${EMPTY}${COPY}` : COPY],
    Cmd: [],
    User: '0',
    WorkingDir: '/',
    Labels: { ...labels },
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['NET_RAW'],
      SecurityOpt: ['no-new-privileges'],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      Mounts: [
        { Type: 'volume', Source: from, Target: '/from', ReadOnly: true },
        { Type: 'volume', Source: to, Target: '/to', VolumeOptions: NO_COPY },
      ],
      ...(memoryMb > 0 && { Memory: memoryMb * 2 ** 20 }),
      ...(limits !== undefined && { PidsLimit: limits.pidsLimit }),
      ...(limits?.runtime !== undefined && { Runtime: limits.runtime }),
      ...(limits?.usernsMode !== undefined && { UsernsMode: limits.usernsMode }),
    },
  }
}

/** Returns the last line of a log, without the eight-byte frame header. */
function messageIn(log: Buffer, status: number): string {
  const line = log.subarray(8).toString('utf8').trim().slice(0, 500)
  return line === '' ? `cp exited with status ${status}` : line
}
