import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { packageRoot } from '../../../src/lib/process/package.ts'

const LOG = `import { registerHooks } from 'node:module'
const packages = new Set()
registerHooks({
  resolve(name, context, next) {
    const found = next(name, context)
    const [, inside] = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url) ?? []
    // Importing it by name also loads a WebSocket library; requiring it does not.
    const loaded = inside ?? (name === 'node:http' && context.conditions.includes('import') ? name : undefined)
    if (loaded !== undefined) packages.add(loaded)
    return found
  },
})
process.on('exit', () => process.stderr.write('\\nloaded ' + JSON.stringify([...packages].toSorted()) + '\\n'))`

/** Returns the packages a program loads until it exits; it is sent SIGTERM when it prints the `ready` line. */
export async function loadedPackages(
  program: string,
  argv: readonly string[],
  environment: NodeJS.ProcessEnv,
  ready?: RegExp,
): Promise<readonly string[]> {
  const file = join(packageRoot, `src/bin/${program}.ts`)
  const flag = `--import=data:text/javascript,${encodeURIComponent(LOG)}`
  const child = spawn(process.execPath, [flag, file, ...argv], {
    cwd: environment['HOME'],
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      if (ready?.test(bytes.toString()) === true) child.kill('SIGTERM')
    })
  const said = await text(child.stderr)
  const [, list] = /^loaded (\[.*\])$/m.exec(said) ?? []
  if (list === undefined) throw new Error(`${program} ${argv.join(' ')} loads nothing: ${said}`)
  return JSON.parse(list) as string[]
}
