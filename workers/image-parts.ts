import { type ConversionParts, conversionParts } from '../src/workspace/image/convert/conversion-parts.ts'

/** Digests of what goes into every image; see conversionParts. */
export default function imageParts(task: Parameters<typeof conversionParts>[0]): ConversionParts {
  return conversionParts(task)
}
