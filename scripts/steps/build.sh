# Step: dist, the JavaScript that the bins run, and the page of the workspace server.

# With the built page, which is made among the sources: one that is gone or was changed is built again.
build_state() { echo "$(hash_of src workers guest native binding.gyp tsconfig.json tsconfig.build.json package-lock.json scripts/build scripts/guest.mjs) node-$node_version"; }

build_lacks() {
  is_stamped dist/.setup-stamp "$(build_state)" || lack="dist is absent or out of date"
}

build_make() {
  say "compiling TypeScript into dist"
  quietly on_node scripts/build || { say "the TypeScript does not compile"; exit 1; }
  stamp dist/.setup-stamp "$(build_state)"
}
