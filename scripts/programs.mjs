// Bundles the programs, so that they start with fewer files to load: node scripts/programs.mjs DIST. It replaces the
// files in DIST/src/bin. What is started or read by path stays where the compiler put it: `import.meta.url` keeps the
// value that it has there.
import { globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/programs.mjs DIST')
const dist = resolve(folder)
const bin = join(dist, 'src/bin')

/** Packages that stay in node_modules: all but the one that every command loads. */
const { dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'),
)
const packages = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
  (name) => name !== 'commander',
)
const isExternal = (id) => packages.some((name) => id === name || id.startsWith(`${name}/`))

/** Replaces a program by one that imports its parts from a folder with its name. */
async function bundle(program) {
  const parts = join(bin, program)
  const made = await rolldown({
    input: join(bin, `${program}.js`),
    platform: 'node',
    external: isExternal,
    plugins: [
      {
        name: 'keep-urls',
        transform: (code, id) =>
          code.replaceAll(
            'import.meta.url',
            `new URL(${JSON.stringify(relative(parts, id))}, import.meta.url).href`,
          ),
        generateBundle(_, files) {
          const entry = files[`${program}.js`]
          if (entry.code.includes('import.meta')) this.error(`${program}.js contains a URL`)
        },
      },
    ],
  })
  await made.write({
    dir: bin,
    entryFileNames: `${program}.js`,
    chunkFileNames: `${program}/[name].js`,
  })
  await made.close()
}

for (const name of globSync('*.js', { cwd: bin })) await bundle(name.slice(0, -'.js'.length))
