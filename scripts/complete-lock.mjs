// Completes package-lock.json after `npm install`: node scripts/complete-lock.mjs [--check | --release]
// With --check it writes nothing, and exits 1 when something is left out, or would be installed without a look at its bytes.
// With --release it also refuses the few that lock-without-integrity.json still excuses; `npm publish` runs it so.
//
// npm leaves out of the lock every platform's binary that the registry at hand could not give (a mirror lags behind), and
// `npm ci` then refuses that lock on every machine. What is left out is known all the same: the name and the version stand
// in the parent's optionalDependencies, the platform in the name. Only the integrity hash is unknown: it is asked of the
// registry, and those that it does not have are excused in lock-without-integrity.json by name and version, each for itself, so
// that the list can only become shorter.
import { execFileSync } from 'node:child_process'
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

const EXCUSED = 'scripts/lock-without-integrity.json'
/** npm takes the weaker ones as well. */
const STRONG = /^sha512-[A-Za-z0-9+/]{86}==$/

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
const isRelease = process.argv.includes('--release')
if (isRelease || process.argv.includes('--check')) {
  const mistakes = [
    ...(added.length > 0 ? [`package-lock.json lacks ${added.join(' ')}`] : []),
    ...integrityMistakes(),
  ]
  for (const mistake of mistakes) console.error(`${mistake}: run node scripts/complete-lock.mjs`)
  process.exit(mistakes.length > 0 ? 1 : 0)
}
// npm's own order, so that the next install changes nothing.
const order = new Intl.Collator('en').compare
const excused = new Set()
for (const [place, entry] of unchecked()) {
  const wanted = `${nameOf(place)}@${entry.version}`
  const integrity = askRegistry(wanted)
  if (integrity === undefined) excused.add(wanted)
  else entry.integrity = integrity
}
writeFileSync(EXCUSED, `${JSON.stringify([...excused].toSorted(order), undefined, 2)}\n`)
lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => order(a, b)))
writeFileSync('package-lock.json', `${JSON.stringify(lock, undefined, 2)}\n`)
console.log(`complete-lock: ${added.length} added${added.length === 0 ? '' : `: ${added.join(' ')}`}`)
if (excused.size > 0) console.error(`complete-lock: the registry has none of ${[...excused].join(' ')}`)

/** What npm would install whatever its bytes are. Links and bundled packages come with what holds them. */
function unchecked() {
  return Object.entries(lock.packages).filter(
    ([place, { link, inBundle, integrity }]) =>
      place.includes('node_modules/') && !link && !inBundle && !STRONG.test(integrity ?? ''),
  )
}

function integrityMistakes() {
  const known = new Set(JSON.parse(readFileSync(EXCUSED, 'utf8')))
  const found = unchecked().map(([place, { version }]) => `${nameOf(place)}@${version}`)
  const wrong = isRelease ? found : found.filter((each) => !known.has(each))
  const done = [...known].filter((each) => !found.includes(each))
  return [
    ...wrong.map((each) => `package-lock.json has no sha512 of ${each}`),
    ...done.map((each) => `${EXCUSED} excuses ${each} for nothing`),
  ]
}

function nameOf(place) {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function askRegistry(wanted) {
  try {
    const said = execFileSync('npm', ['view', wanted, 'dist.integrity'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
    return STRONG.test(said) ? said : undefined
  } catch {
    return undefined
  }
}
