import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { madeOnce } from '../made-once.ts'
import { tempDir } from '../temp-dir.ts'

const fixtures = join(packageRoot, 'test/fixtures/foreign')
const installed = join(packageRoot, '.node/foreign/bin')

/** A client library's program in test/fixtures/foreign. */
export interface LibraryClient {
  /** Library and version. */
  readonly title: string
  /** Command that plays one case; its arguments are listed in the programs. */
  readonly command: readonly string[]
}

/** Returns the path of a program that scripts/foreign-clients installs. */
export function foreignProgram(name: string): string {
  return join(installed, name)
}

/** Returns the version that a program prints, found by a pattern. */
export function versionOf(command: readonly string[], pattern = /(\d+(?:\.\d+)+(?:p\d+)?)/): string {
  const [program = '', ...argv] = command
  const output = execFileSync('sh', ['-c', '"$0" "$@" 2>&1 || true', program, ...argv], { encoding: 'utf8' })
  const version = pattern.exec(output)?.[1]
  if (version === undefined)
    throw new Error(`${command.join(' ')} printed no version: ${output.slice(0, 200)}`)
  return version
}

/** Returns all client libraries, built if necessary. */
export function libraryClients(): readonly LibraryClient[] {
  const python = (file: string) => [foreignProgram('python'), join(fixtures, 'python', file)]
  const java = builtJava()
  const clients: Readonly<Record<string, readonly string[]>> = {
    paramiko: python('paramiko_client.py'),
    asyncssh: python('asyncssh_client.py'),
    'golang.org/x/crypto/ssh': [goClient()],
    JSch: [...java, 'JschClient'],
    'Apache MINA SSHD': [...java, 'MinaClient'],
  }
  return Object.entries(clients).map(([name, command]) => ({
    title: `${name} ${versionOf([...command, 'version'])}`,
    command,
  }))
}

/** E2B's SDK for a language and its package for code, installed at fixed versions. */
interface E2bSdk {
  readonly version: string
  /** Runs a program that imports the SDK. */
  readonly run: (program: string, argv: readonly string[], environment: Environment) => Promise<Finished>
}

type Environment = Readonly<Record<string, string | undefined>>
type Finished = Awaited<ReturnType<typeof run>>

const E2B_NPM = ['e2b@2.51.0', '@e2b/code-interpreter@2.8.0'] as const
const E2B_PYPI = ['e2b==2.63.0', 'e2b-code-interpreter==2.11.5'] as const

/** Returns E2B's SDK for JavaScript, installed if necessary. */
export function e2bForNode(): E2bSdk {
  const sdk = madeOnce('e2b-npm', E2B_NPM, (folder) => {
    const argv = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, ...E2B_NPM]
    execFileSync('npm', argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  })
  return {
    version: versionsOf(E2B_NPM),
    async run(program, argv, environment) {
      // Imports are resolved from the program's folder.
      const folder = tempDir()
      symlinkSync(join(sdk, 'node_modules'), join(folder, 'node_modules'))
      const file = join(folder, 'program.mjs')
      writeFileSync(file, program)
      return run(process.execPath, [file, ...argv], { environment, timeoutMs: 150_000 })
    },
  }
}

/** Returns E2B's SDK for Python, installed if necessary. */
export function e2bForPython(): E2bSdk {
  const sdk = madeOnce('e2b-pypi', E2B_PYPI, (folder) => {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: ['ignore', 'pipe', 'pipe'] })
    const argv = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...E2B_PYPI]
    execFileSync(join(folder, 'bin/python'), argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  })
  return {
    version: versionsOf(E2B_PYPI),
    async run(program, argv, environment) {
      const file = join(tempDir(), 'program.py')
      writeFileSync(file, program)
      return run(join(sdk, 'bin/python'), [file, ...argv], { environment, timeoutMs: 150_000 })
    },
  }
}

function versionsOf(packages: readonly string[]): string {
  return packages.map((each) => each.replace(/^.*[=@]/, '')).join(' and ')
}

/** Returns the path of the client in Go. */
export function goClient(): string {
  const sources = join(fixtures, 'go')
  const built = madeOnce('foreign-go', inputsOf(sources), (folder) => {
    execFileSync('go', ['build', '-o', join(folder, 'client'), '.'], {
      cwd: sources,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  })
  return join(built, 'client')
}

/** Returns the command of OpenAPI Generator, downloaded if necessary. */
export function openApiGenerator(): readonly string[] {
  const artifact = 'org.openapitools:openapi-generator-cli:7.17.0'
  const downloaded = madeOnce('openapi-generator', [artifact], (folder) => {
    const argv = [
      '-B',
      '-ntp',
      '-q',
      'dependency:copy',
      `-Dartifact=${artifact}`,
      `-DoutputDirectory=${folder}`,
    ]
    execFileSync('mvn', argv, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  })
  const [jar = ''] = globSync('*.jar', { cwd: downloaded })
  return ['java', '-jar', join(downloaded, jar)]
}

function builtJava(): readonly string[] {
  const sources = join(fixtures, 'java')
  const built = madeOnce('foreign-java', inputsOf(sources), (folder) => {
    copyFileSync(join(sources, 'pom.xml'), join(folder, 'pom.xml'))
    cpSync(join(sources, 'src'), join(folder, 'src'), { recursive: true })
    const goals = ['compile', 'dependency:copy-dependencies', '-DoutputDirectory=lib']
    execFileSync('mvn', ['-B', '-ntp', '-q', ...goals], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  })
  return ['java', '-cp', `${join(built, 'target/classes')}:${join(built, 'lib/*')}`]
}

function inputsOf(folder: string): readonly Buffer[] {
  const files = globSync('**/*.*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile())
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => readFileSync(file))
}
