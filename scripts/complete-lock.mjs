// Completes package-lock.json after `npm install`: node scripts/complete-lock.mjs [--check | --release]
// With --check it writes nothing, and exits 1 when an entry is missing or has no strong hash.
// With --release it also refuses the exceptions in lock-without-integrity.json; `npm publish` uses it.
//
// npm omits from the lock every platform's binary that the current registry lacks (a mirror lags behind), and `npm
// ci` then refuses that lock on every machine. The missing entries can be derived: name and version from the parent's
// optionalDependencies, the platform from the name. Only the integrity hash is unknown: it is requested from the
// registry.
// Packages that the registry lacks are listed by name and version in lock-without-integrity.json, a list that can
// only become shorter.
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
/** npm accepts weaker hashes too. */
const STRONG = /^sha512-[A-Za-z0-9+/]{86}==$/

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const added = []
/** Packages needed in two versions; npm's placement of the second is not known here. */
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
  console.error(`package-lock.json lacks ${clashing.join(' ')}: use a single version of their parents`)
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
// npm's own order, so that the next install makes no changes.
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
if (excused.size > 0) console.error(`complete-lock: missing from the registry: ${[...excused].join(' ')}`)

/**
 * Returns entries that npm would install without verifying their bytes. Links and bundled packages are part of
 * others.
 */
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
    ...done.map((each) => `${EXCUSED} excuses ${each} unnecessarily`),
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
