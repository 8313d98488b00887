import { setAlias } from '../../../src/content/publish/alias.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'

// Arguments: the folder of the store, the start of the aliases, their number.
const [root = '', name = '', count = '0'] = process.argv.slice(2)
for (let n = 0; n < Number(count); n++)
  await setAlias({ repo: 'guide', alias: `${name}-${n}`, version: '1.0' }, new FsStore(root))
