import { makeVmImages } from './vm-image.ts'

/** Runs before all VM suites, once their parts exist: converts the images that workspaces boot from. */
export default makeVmImages
