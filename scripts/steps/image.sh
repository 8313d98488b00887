# Step: the image that a workspace gets when it names none.

image_lacks() {
  # No engine, no image: the step before has said so.
  if [ -z "$engine" ] || [ "$has_image" = yes ]; then return; fi
  lack="the base image $base_image is missing"
}

image_make() {
  on_node scripts/base-image "$base_image" </dev/null && has_image=yes && return
  say "$base_image could not be made; workspaces must name an image until it is"
  return 1
}
