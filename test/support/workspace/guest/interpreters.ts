import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { Workspace } from '../../../../src/workspace/client/sdk/connect.ts'
import { madeOnce } from '../../made-once.ts'

/** Parts of the C library, which the workspace has. */
const SYSTEM_LIBRARY = /^(?:ld-linux|lib(?:c|m|dl|pthread|rt|util)\.so)/
const TARGET = '/workspace/.interpreters'

/** Installs this machine's Python and Node.js in a workspace whose image has neither. */
export async function installInterpreters(workspace: Workspace): Promise<void> {
  const folder = madeOnce('interpreters', [process.version, pythonFacts().join()], (made) => {
    const [executable = '', library = ''] = pythonFacts()
    mkdirSync(join(made, 'bin'), { recursive: true })
    mkdirSync(join(made, 'libraries'))
    copyFileSync(process.execPath, join(made, 'bin/node'))
    copyFileSync(realpathSync(executable), join(made, 'bin/python3'))
    cpSync(library, join(made, 'lib', basename(library)), {
      recursive: true,
      filter: (path) =>
        !/\/(?:test|site-packages|dist-packages|__pycache__|idlelib|ensurepip|config-[^/]*)$/.test(path),
    })
    const linked = execFileSync('ldd', [realpathSync(executable)], { encoding: 'utf8' })
    for (const [, name = '', path = ''] of linked.matchAll(/(\S+) => (\/\S+) \(/g))
      if (!SYSTEM_LIBRARY.test(name)) copyFileSync(path, join(made, 'libraries', name))
  })
  // The server is in this process, and must not wait for it.
  const options = { encoding: 'buffer', maxBuffer: 2 ** 30 } as const
  const { stdout } = await promisify(execFile)('tar', ['-czf', '-', '-C', folder, '.'], options)
  await workspace.files.write(`${TARGET}.tar.gz`, stdout)
  const script = `
mkdir ${TARGET} && tar -xzf ${TARGET}.tar.gz -C ${TARGET} && chmod -R a+rX ${TARGET} || exit
ln -s ${TARGET}/bin/node /usr/local/bin/node
cat > /usr/local/bin/python3 <<'END'
#!/bin/sh
PYTHONHOME=${TARGET} LD_LIBRARY_PATH=${TARGET}/libraries exec ${TARGET}/bin/python3 "$@"
END
chmod 755 /usr/local/bin/python3
node --version && python3 --version`
  const { exitStatus, stderr } = await workspace.exec(script, { user: 'root' })
  if (exitStatus !== 0) throw new Error(stderr)
}

/** Returns program and library of this machine's Python. */
function pythonFacts(): readonly string[] {
  const code = 'import sys, sysconfig; print(sys.executable, sysconfig.get_path("stdlib"), sep="\\n")'
  return execFileSync('python3', ['-c', code], { encoding: 'utf8' }).trim().split('\n')
}
