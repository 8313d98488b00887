// Completes package-lock.json after `npm install`: node scripts/complete-lock.mjs [--check]
// With --check it writes nothing, and exits 1 when something is left out.
//
// npm leaves out of the lock every platform's binary that the registry at hand could not give (a mirror lags behind), and
// `npm ci` then refuses that lock on every machine. What is left out is known all the same: the name and the version stand
// in the parent's optionalDependencies, the platform in the name. Only the integrity hash is unknown.
import { readFileSync, writeFileSync } from 'node:fs'

const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const added = []
/** In another version than their parent wants: where npm would put a second one is not known here. */
const clashing = []
for (const [place, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`
    const own = lock.packages[`${place}/${path}`] ?? lock.packages[path]
    if (/^\d/.test(version) && own !== undefined && own.version !== version)
      clashing.push(`${name}@${version} of ${place}`)
    const words = name.split(/[/-]/)
    const os = systems.filter((system) => words.includes(system))
    const cpu = processors.filter((processor) => words.includes(processor))
    if (path in lock.packages || os.length === 0 || cpu.length === 0) continue
    const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined
    lock.packages[path] = {
      version,
      cpu,
      ...(parent.dev && { dev: true }),
      ...(libc && { libc }),
      optional: true,
      os,
    }
    added.push(name)
  }
}
if (clashing.length > 0) {
  console.error(
    `package-lock.json lacks ${clashing.join(' ')}: let one version of its parent serve all that want it`,
  )
  process.exit(1)
}
if (process.argv.includes('--check')) {
  if (added.length > 0)
    console.error(`package-lock.json lacks ${added.join(' ')}: run node scripts/complete-lock.mjs`)
  process.exit(added.length > 0 ? 1 : 0)
}
// npm's own order, so that the next install changes nothing.
const order = new Intl.Collator('en').compare
lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => order(a, b)))
writeFileSync('package-lock.json', `${JSON.stringify(lock, undefined, 2)}\n`)
console.log(`complete-lock: ${added.length} added${added.length === 0 ? '' : `: ${added.join(' ')}`}`)
