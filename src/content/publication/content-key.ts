/** Folder of the contents of published files, below a repository or version. */
export const CONTENTS = '_objects/'
/** Endings of the keys of a content's forms: as it is, and compressed. */
export const FORMS = ['', '.br', '.gz'] as const
/** Matches the key of a content relative to the manifest's folder: its hash and the ending of its form. */
export const CONTENT_KEY = /^_objects\/([0-9a-f]{64})(\.br|\.gz)?$/

/** Returns the key of a content, relative to the manifest's folder. */
export function contentKey(hash: string): string {
  return CONTENTS + hash
}

/** Whether a key relative to the manifest's folder is one under which publishing stores contents. */
export function isContentKey(key: string): boolean {
  return CONTENT_KEY.test(key)
}

/** Returns a key, and those of the compressed forms beside it. */
export function withForms(key: string, isCompressed: boolean): readonly string[] {
  return isCompressed ? FORMS.map((form) => key + form) : [key]
}
