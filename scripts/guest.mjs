// Creates the folder that every virtual machine gets as /opt/workspace: node scripts/guest.mjs FOLDER It contains the
// agent as one file, the addon, the Node.js that runs both, and their units. Without a built addon, or on systems
// other than Linux, there is nothing to create; "workspace doctor" then reports what is missing.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const root = resolve(import.meta.dirname, '..')
const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/guest.mjs FOLDER')
const target = resolve(folder)
rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })

const bundle = async (source, name, banner) => {
  const made = await rolldown({ input: join(root, source), platform: 'node' })
  await made.write({ file: join(target, name), format: 'esm', codeSplitting: false, banner })
  await made.close()
}
await bundle('guest/agent/main.ts', 'agent.js', '')
await bundle('guest/agent/pod.ts', 'pod-agent.js', '')
await bundle('guest/cloud-credentials/main.ts', 'workspace-ext-cloud-credentials', '#!/opt/workspace/node')
chmodSync(join(target, 'workspace-ext-cloud-credentials'), 0o755)
// Without it Node.js parses the file twice to detect the kind of module.
writeFileSync(join(target, 'package.json'), '{"type":"module"}\n')

for (const name of ['workspace_native.node', 'workspace-start']) {
  const places = [join(root, 'build/Release'), join(root, 'prebuilds', `${process.platform}-${process.arch}`)]
  const built = places.map((place) => join(place, name)).find((file) => existsSync(file))
  if (built !== undefined && process.platform === 'linux') copyFileSync(built, join(target, name))
}
if (process.platform === 'linux') {
  try {
    // Saves copying 120 MB.
    linkSync(process.execPath, join(target, 'node'))
  } catch {
    copyFileSync(process.execPath, join(target, 'node'))
  }
}
copyFileSync(join(root, 'guest/init'), join(target, 'init'))
for (const name of ['units', 'manifests'])
  cpSync(join(root, 'guest', name), join(target, name), { recursive: true })
