# Step: dist, the JavaScript that the bins run, and the scripts of pages.

# With the built pages, which are made among the sources: one that is gone or was changed is built again.
build_state() { echo "$(hash_of src workers guest native binding.gyp tsconfig.json tsconfig.page.json tsconfig.build.json package-lock.json scripts/build scripts/guest.mjs scripts/pages.mjs) node-$node_version"; }

build_lacks() {
  is_stamped dist/.setup-stamp "$(build_state)" || lack="dist is absent or out of date"
}

build_make() {
  say "compiling TypeScript into dist"
  quietly on_node scripts/build || { say "the TypeScript does not compile"; exit 1; }
  stamp dist/.setup-stamp "$(build_state)"
}
