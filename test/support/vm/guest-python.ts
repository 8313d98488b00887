import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { cloudPython } from '../services/moto.ts'
import { tempDir } from '../temp-dir.ts'

const PACKAGES = ['boto3', 'botocore', 's3transfer', 'jmespath', 'dateutil', 'urllib3', 'six.py']
/** Subset of the hundred or so services that botocore describes. */
const SERVICES = ['s3', 'sts']
/** Parts of Python that boto3 does not need. */
const UNUSED =
  /\/(?:tests?|idlelib|tkinter|turtledemo|ensurepip|site-packages|lib2to3|pydoc_data|distutils|unittest|config-[^/]*)$|\.opt-\d\.pyc$/
const HOME = '/opt/python'

/** Runs this machine's Python with boto3 inside a guest that has unpacked its archive. */
export const GUEST_PYTHON = `LD_LIBRARY_PATH=${HOME}/lib PYTHONHOME=${HOME} PYTHONPATH=${HOME}/packages ${HOME}/bin/python3`

/**
 * An archive of this machine's Python and boto3 for a guest of the same Debian: its own image has neither.
 */
export function guestPythonArchive(): Buffer {
  const ask = (expression: string): string =>
    execFileSync(cloudPython, ['-c', `import os, boto3; print(${expression})`], {
      encoding: 'utf8',
    }).trim()
  const library = ask('os.path.dirname(os.__file__)')
  const packages = ask('os.path.dirname(os.path.dirname(boto3.__file__))')
  const python = realpathSync(cloudPython)
  const root = tempDir()
  const home = join(root, HOME)
  for (const folder of ['bin', 'lib', 'packages']) mkdirSync(join(home, folder), { recursive: true })

  copyFileSync(python, join(home, 'bin/python3'))
  // With its timestamps, by which Python recognizes compiled files: otherwise everything takes ten times as
  // long.
  cpSync(library, join(home, 'lib', basename(library)), {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !UNUSED.test(path),
  })
  for (const name of PACKAGES)
    cpSync(join(packages, name), join(home, 'packages', name), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !path.includes('/botocore/data/') || isNeeded(path),
    })
  for (const file of sharedLibraries([
    python,
    join(library, 'lib-dynload/_ssl*.so'),
    join(library, 'lib-dynload/_ctypes*.so'),
  ]))
    copyFileSync(file, join(home, 'lib', basename(file)))
  execFileSync(cloudPython, ['-m', 'compileall', '-q', join(home, 'packages')])
  return execFileSync('tar', ['-cf', '-', '-C', root, 'opt'], { maxBuffer: 2 ** 30 })
}

function isNeeded(path: string): boolean {
  const [top = ''] = (path.split('/botocore/data/')[1] ?? '').split('/')
  return top.endsWith('.json') || SERVICES.includes(top)
}

/** Libraries that these need besides the C library, which the guest has. */
function sharedLibraries(patterns: readonly string[]): readonly string[] {
  const said = execFileSync('sh', ['-c', `ldd ${patterns.join(' ')}`], { encoding: 'utf8' })
  const found = [...said.matchAll(/=> (\/\S+)/g)].map(([, file = '']) => file)
  return [...new Set(found)].filter(
    (file) => !/\/(?:libc|libm|libdl|libpthread|librt|libutil)\.so/.test(file),
  )
}
