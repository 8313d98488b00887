import type { Scan } from '../scan/scan.ts'
import { showClass } from '../query/types/class-show.ts'
import type { Excerpt, SourceFormat } from './java/source-format.ts'
import { renderClassFile } from './java/render-class-file.ts'
import {
  type ClassOrigin,
  type ClassText,
  noSource,
  type SourceService,
  type TextOptions,
} from './source-service.ts'
import type { VisibilityLevel } from './java/visibility.ts'

export interface ShowOptions extends TextOptions {
  readonly format: SourceFormat
  /** The least visible members that are shown; not for `full`. */
  readonly visibility: VisibilityLevel
}

export interface SourceView {
  readonly fqn: string
  /** Null for a text that stands in no file. */
  readonly filePath: string | null
  readonly language: string
  readonly content: string
  readonly lineCount: number
  readonly module: string | null
  readonly sourceOrigin: ClassText['origin']
  readonly mavenCoordinates: string | null
  readonly isDecompiled: boolean
  readonly format: SourceFormat
  /** Of the class in `content`, from 1; null where they are not known. Only for `full`. */
  readonly startLine?: number | null
  readonly endLine?: number | null
}

/** A class's source, whole or in excerpts. @throws CLASS_NOT_FOUND and as `SourceService.text` */
export async function showSource(
  service: SourceService,
  scan: Scan,
  fqn: string,
  options: ShowOptions,
): Promise<SourceView> {
  const origin = await service.find(scan, fqn, options.language)
  if (options.format !== 'full') return showExcerpt(service, scan, origin, options.format, options)
  const text = await service.text(scan.snapshot, origin, options)
  const lines =
    text.language === 'java' ? await service.extract({ ...textOf(text), wanted: { is: 'lines' } }) : undefined
  const { startLine = null, endLine = null } = lines?.is === 'lines' ? lines : {}
  return { ...viewOf(text, text.text, 'full'), startLine, endLine }
}

async function showExcerpt(
  service: SourceService,
  scan: Scan,
  origin: ClassOrigin,
  excerpt: Excerpt,
  options: ShowOptions,
): Promise<SourceView> {
  const { found, mavenCoordinates } = origin.found
  const { fqn, classLocation } = origin
  if (found?.language === 'java') {
    const text: ClassText = { fqn, classLocation, mavenCoordinates, ...found }
    const wanted = { is: 'excerpt', excerpt, least: options.visibility } as const
    const extracted = await service.extract({ ...textOf(text), wanted })
    if (extracted?.is === 'excerpt') return viewOf(text, extracted.content, excerpt)
  }
  // What documents it is in a source text alone.
  if (excerpt === 'javadoc') throw noSource(origin, { language: 'java' })
  const content = renderClassFile(showClass(scan.snapshot, fqn), excerpt, options.visibility)
  const made = {
    fqn,
    classLocation,
    mavenCoordinates,
    text: content,
    filePath: null,
    language: 'java',
    module: null,
  } as const
  return viewOf({ ...made, origin: 'DECOMPILED' }, content, excerpt)
}

export function textOf({ text, classLocation, origin }: ClassText) {
  return { text, steps: classLocation.steps, isOriginal: origin !== 'DECOMPILED' }
}

function viewOf(text: ClassText, content: string, format: SourceFormat): SourceView {
  const { fqn, filePath, language, module, origin, mavenCoordinates } = text
  return {
    fqn,
    filePath,
    language,
    content,
    lineCount: lineCount(content),
    module,
    sourceOrigin: origin,
    mavenCoordinates,
    isDecompiled: origin === 'DECOMPILED',
    format,
  }
}

function lineCount(text: string): number {
  if (text === '') return 0
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
