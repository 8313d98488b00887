import { type HierarchyRectangularNode, hierarchy, treemap, treemapSquarify } from 'd3-hierarchy'
import { formatBytes } from '../../../lib/cli/bytes.ts'
import { printable } from '../../../lib/cli/table.ts'
import { escapeMarkup } from '../../../lib/markup/escape.ts'
import type { WireDiskReport } from '../../api/disk.ts'
import { shortName } from './disk-table.ts'

/** An item with its disk usage. */
interface DiskItem {
  readonly kind: 'image' | 'workspace' | 'snapshot' | 'orphan'
  readonly name: string
  readonly bytes: number
}

/** Returns all items that use disk space, largest first. */
function itemsOf({ images, workspaces, snapshots = [], orphans }: WireDiskReport): readonly DiskItem[] {
  const items: DiskItem[] = [
    ...images.map(({ name, size }) => piece('image', shortName(name), size)),
    ...workspaces.map(({ name, total }) => piece('workspace', name, total)),
    ...snapshots.map(({ name, size }) => piece('snapshot', name, size)),
    ...orphans.map(({ path, size }) => piece('orphan', path, size)),
  ]
  return items.filter(({ bytes }) => bytes > 0).toSorted((a, b) => b.bytes - a.bytes)
}

function piece(kind: DiskItem['kind'], name: string, size: { readonly physical_bytes: number }): DiskItem {
  return { kind, name: printable(name), bytes: size.physical_bytes }
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const

/** Draws a bar for each image, workspace, snapshot and orphan, within the given number of columns. */
export function diskBars(report: WireDiskReport, columns: number): string {
  const items = itemsOf(report)
  if (items.length === 0) return 'no disk usage'
  const largest = items[0]?.bytes ?? 1
  const labels = items.map(({ kind, name }) => cut(`${kind} ${name}`, Math.floor(columns / 3)))
  const sizes = items.map(({ bytes }) => formatBytes(bytes))
  const labelWidth = Math.max(...labels.map((label) => label.length))
  const sizeWidth = Math.max(...sizes.map((size) => size.length))
  const barWidth = Math.max(8, columns - labelWidth - sizeWidth - 4)
  const lines = items.map(({ bytes }, i) => {
    const label = labels[i]?.padEnd(labelWidth) ?? ''
    return `${label}  ${sizes[i]?.padStart(sizeWidth) ?? ''}  ${bar((bytes / largest) * barWidth)}`
  })
  const total = report.totals.all.physical_bytes - report.totals.shared_bytes
  return [...lines, `${'total'.padEnd(labelWidth)}  ${formatBytes(total).padStart(sizeWidth)}`].join('\n')
}

/** Draws a bar in eighths of a character, at least one eighth long. */
function bar(length: number): string {
  const eighths = Math.max(1, Math.round(length * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '')
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(text.length - width + 1)}`
}

const WIDTH = 1200
const HEIGHT = 800
const COLORS: Readonly<Record<DiskItem['kind'], string>> = {
  image: '#4c78a8',
  workspace: '#54a24b',
  snapshot: '#b279a2',
  orphan: '#e45756',
}

interface Node {
  readonly piece?: DiskItem
  readonly children?: readonly Node[]
}

/** Draws a treemap of disk usage as a self-contained SVG. */
export function diskMap(report: WireDiskReport): string {
  const byKind = Map.groupBy(itemsOf(report), ({ kind }) => kind)
  const root: Node = {
    children: [...byKind.values()].map((items) => ({ children: items.map((each) => ({ piece: each })) })),
  }
  const sized = hierarchy<Node>(root, ({ children }) => children).sum((node) => node.piece?.bytes ?? 0)
  const laidOut = treemap<Node>().tile(treemapSquarify).size([WIDTH, HEIGHT]).paddingInner(2)(sized)
  const title = `${report.server_name}: ${formatBytes(report.totals.all.physical_bytes)} on disk, ${report.generated_at}`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -30 ${WIDTH} ${HEIGHT + 30}" font-family="sans-serif" font-size="14">`,
    `<text x="4" y="-10" fill="#444">${escaped(title)}</text>`,
    ...laidOut.leaves().map(tile),
    '</svg>',
    '',
  ].join('\n')
}

function tile({ x0, y0, x1, y1, data }: HierarchyRectangularNode<Node>): string {
  const { piece: item } = data
  if (item === undefined) return ''
  const [width, height] = [x1 - x0, y1 - y0]
  const title = `${item.kind} ${item.name}: ${formatBytes(item.bytes)}`
  const label = cut(item.name, Math.floor((width - 8) / 8))
  const position = (dy: number) => `x="${(x0 + 4).toFixed(1)}" y="${(y0 + dy).toFixed(1)}" fill="#fff"`
  const texts =
    width > 40 && height > 40
      ? `<text ${position(18)}>${escaped(label)}</text><text ${position(36)}>${formatBytes(item.bytes)}</text>`
      : ''
  const box = `x="${x0.toFixed(1)}" y="${y0.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}"`
  return `<g><title>${escaped(title)}</title><rect ${box} fill="${COLORS[item.kind]}"/>${texts}</g>`
}

function escaped(text: string): string {
  return escapeMarkup(printable(text))
}
