/** What of a Java text is shown beside the whole of it. */
const EXCERPTS = ['stub', 'signatures', 'javadoc'] as const
export type Excerpt = (typeof EXCERPTS)[number]

export const SOURCE_FORMATS = ['full', ...EXCERPTS] as const
export type SourceFormat = (typeof SOURCE_FORMATS)[number]
