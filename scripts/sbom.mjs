// Prints the package's dependencies in CycloneDX, from the lock file: node scripts/sbom.mjs
// `npm sbom --omit dev` leaves out dependencies that development also needs, such as yaml. So npm reads a copy of the
// lock file without development.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'))
const { devDependencies: _, ...manifest } = read('package.json')
const lock = read('package-lock.json')
const { devDependencies: __, ...rootPackage } = lock.packages['']
const dependencies = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true)

const temporary = mkdtempSync(join(tmpdir(), 'sbom-'))
try {
  // npm names the package after its folder.
  const folder = join(temporary, manifest.name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const packages = { '': rootPackage, ...Object.fromEntries(dependencies) }
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }))
  const argv = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']
  execFileSync('npm', argv, { cwd: folder, stdio: 'inherit' })
} finally {
  rmSync(temporary, { recursive: true })
}
