import { access, statfs } from 'node:fs/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { run } from '../../lib/process/run.ts'
import { toolEnvironment } from '../../lib/process/tool-environment.ts'
import { findInit } from '../../native/programs/init.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { Check } from '../check.ts'
import { configuredKernel } from '../image/convert/kernel-source.ts'
import { GUEST_DIR, imageBackendsOf } from './open-images.ts'
import { npmRun } from './repair.ts'

/** A program that conversions run, the command that prints its version, and Debian's package that provides it. */
interface Tool {
  readonly name: string
  readonly argv: readonly [string, ...string[]]
  readonly package: string
  /** Default: to install the package. */
  readonly remedy?: string
  /** Whether conversions fail without it. */
  readonly isNeeded: boolean
}

/**
 * Checks the prerequisites for converting images on this machine; returns no checks when no VM backend is
 * enabled.
 */
export async function probeImages(config: WorkspaceConfig): Promise<readonly Check[]> {
  const backends = imageBackendsOf(config)
  if (backends.length === 0) return []
  const isRoot = process.getuid?.() === 0
  const tools: readonly Tool[] = [
    {
      name: 'GNU tar',
      argv: ['tar', '--version'],
      package: 'tar',
      remedy: 'install tar (GNU)',
      isNeeded: true,
    },
    { name: 'mke2fs', argv: ['mke2fs', '-V'], package: 'e2fsprogs', isNeeded: true },
    { name: 'e2fsck', argv: ['e2fsck', '-V'], package: 'e2fsprogs', isNeeded: true },
    { name: 'bubblewrap', argv: ['bwrap', '--version'], package: 'bubblewrap', isNeeded: true },
    { name: 'prlimit', argv: ['prlimit', '--version'], package: 'util-linux', isNeeded: true },
    { name: 'ldd', argv: ['ldd', '--version'], package: 'libc-bin', isNeeded: true },
    ...(isRoot
      ? []
      : [{ name: 'fakeroot', argv: ['fakeroot', '-v'], package: 'fakeroot', isNeeded: true } as const]),
    {
      name: 'debootstrap',
      argv: ['debootstrap', '--version'],
      package: 'debootstrap',
      remedy: 'install debootstrap (for image build --base alone)',
      isNeeded: false,
    },
  ]
  return [
    ...(await Promise.all(tools.map(toolCheck))),
    initCheck(),
    await guestCheck(),
    kernelCheck(config),
    ...(await Promise.all(backends.map((backend) => spaceCheck(config[backend].root)))),
  ]
}

async function toolCheck(tool: Tool): Promise<Check> {
  const { name, argv, isNeeded, remedy = `install ${tool.package}` } = tool
  try {
    const [program, ...rest] = argv
    const { stdout, stderr } = await run(program, rest, { environment: toolEnvironment() })
    const [found = ''] = `${stdout}${stderr}`.trim().split('\n')
    const isRight = name !== 'GNU tar' || found.includes('GNU')
    return { name, ok: isRight, found, remedy: isRight ? '' : remedy }
  } catch (error) {
    const repair = isNeeded ? { package: tool.package } : undefined
    return { name, ok: !isNeeded, found: messageOf(error), remedy, repair }
  }
}

function initCheck(): Check {
  const file = findInit()
  const remedy = 'npm run build:native, with g++ and a static C library installed'
  const name = 'init of VMs'
  return file === undefined
    ? { name, ok: false, found: 'not built', remedy, repair: npmRun('build:native') }
    : { name, ok: true, found: file, remedy: '' }
}

async function guestCheck(): Promise<Check> {
  const name = 'programs for guests'
  try {
    await access(GUEST_DIR)
    return { name, ok: true, found: GUEST_DIR, remedy: '' }
  } catch {
    const found = `${GUEST_DIR} is missing`
    return { name, ok: false, found, remedy: 'npm run build', repair: npmRun('build') }
  }
}

/** A missing kernel is not an error, because an image may contain its own. */
function kernelCheck({ image }: WorkspaceConfig): Check {
  const name = 'kernel for images without one'
  try {
    const { file, release } = configuredKernel({ file: image.kernel, modules: image.modules })
    return { name, ok: true, found: `${release} (${file})`, remedy: '' }
  } catch (error) {
    return { name, ok: true, found: 'none', remedy: messageOf(error) }
  }
}

async function spaceCheck(root: string): Promise<Check> {
  const name = `disk space for images in ${root}`
  // The directory is missing before the first start; its nearest existing parent is on the same disk.
  for (let path = root; ; path = path.slice(0, path.lastIndexOf('/')) || '/') {
    const found = await statfs(path).catch(ignore('a missing directory has a parent'))
    if (found === undefined && path !== '/') continue
    const free = (found?.bavail ?? 0) * (found?.bsize ?? 0)
    const ok = free > 2 * 2 ** 30
    return {
      name,
      ok,
      found: `${Math.floor(free / 2 ** 30)} GiB free`,
      remedy: ok ? '' : 'free disk space: converting an image needs 1 to 2 GiB',
    }
  }
}
