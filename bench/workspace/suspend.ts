import { backendCreate } from '../../test/support/workspace/backend/backend-create.ts'
import { outputOf } from '../../test/support/workspace/backend/backends.ts'
import { makeVmImages, VM_IMAGE } from '../../test/support/vm/vm-image.ts'
import { machineRoots, qemuBackend } from '../../test/support/vm/vm-server.ts'
import type { Bench } from '../harness.ts'

const NAME = 'bench'
const MEMORY_MB = 512

const bench: Bench = {
  note:
    `One machine with systemd and ${MEMORY_MB} MiB, emulated by QEMU without KVM, over a serial port. Resume and boot are ` +
    'timed to the first answer of a program inside; suspend is compared with a shutdown.',

  async prepare() {
    await makeVmImages()
    const roots = machineRoots()
    const backend = await qemuBackend(roots, {}, { vhostDeviceVsock: '/nonexistent' })
    await backend.open(() => undefined)
    const { signal } = new AbortController()
    const request = backendCreate(NAME, VM_IMAGE, { memoryMb: MEMORY_MB })
    let state = await backend.create(request, () => undefined, signal)
    const rest = async (how: 'stop' | 'suspend'): Promise<void> => {
      state = await backend[how](NAME)
    }
    const start = async (): Promise<void> => {
      if (state.state.is !== 'running') state = await backend.start(NAME)
      await outputOf(backend, NAME, { argv: ['true'], stdin: false })
    }
    return {
      cases: [
        {
          name: 'suspend',
          beforeEach: start,
          ours: () => rest('suspend'),
          peer: () => rest('stop'),
          peerName: 'shutdown',
        },
        {
          name: 'suspend and resume',
          beforeEach: start,
          ours: async () => {
            await rest('suspend')
            await start()
          },
          peer: async () => {
            await rest('stop')
            await start()
          },
          peerName: 'shutdown and boot',
        },
      ],
      async cleanUp() {
        await backend.remove(NAME, false)
        await backend.close()
        roots.remove()
      },
    }
  },
}
export default bench
