import { type ConversionParts, conversionParts } from '../src/workspace/image/convert/conversion-parts.ts'

/** Returns digests of the files added to every image; see conversionParts. */
export default function imageParts(task: Parameters<typeof conversionParts>[0]): ConversionParts {
  return conversionParts(task)
}
