# Step: dist, the JavaScript that the bins run, and the scripts of pages.

# Includes the built pages, which are among the sources: deleted or modified ones are built again.
build_state() { echo "$(hash_of src workers guest native binding.gyp tsconfig.json tsconfig.page.json tsconfig.build.json package-lock.json scripts/build vite.page.config.ts scripts/guest.mjs scripts/pages.mjs) node-$node_version"; }

build_lacks() {
  is_stamped dist/.setup-stamp "$(build_state)" || lack="dist is missing or out of date"
}

build_make() {
  report "compiling TypeScript into dist"
  quietly on_node scripts/build || { report "the TypeScript does not compile"; exit 1; }
  stamp dist/.setup-stamp "$(build_state)"
}
