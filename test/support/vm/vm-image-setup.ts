import { makeVmImages } from './vm-image.ts'

/** Before all suites of VMs, and after their parts are there: makes the images that workspaces boot from. */
export default makeVmImages
