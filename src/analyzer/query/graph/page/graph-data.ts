/** Data of the page: classes and packages, identified by their index in these lists. */
export interface GraphData {
  readonly packages: readonly string[]
  readonly classes: readonly (readonly [name: string, pack: number])[]
  /** Source, target and type of each edge, one after the other. */
  readonly edges: readonly number[]
  readonly types: readonly string[]
}
