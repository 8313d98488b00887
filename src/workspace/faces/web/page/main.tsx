import { render } from 'preact'
import '../../../../lib/page/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/list.css'
import './styles/workspace.css'
import './styles/disk-and-bus.css'
// Last, because it overrides styles for small screens.
import './styles/pages.css'
import { Shell } from './shell.tsx'

const root = document.getElementById('page')
if (root !== null) render(<Shell />, root)
