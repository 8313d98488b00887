# Step: the image of workspaces that name none.

image_lacks() {
  if [ -z "$engine" ]; then
    [ "$mode" = make ] || note="the base image cannot be checked without an engine"
  elif [ "$has_image" = no ]; then
    lack="the base image $base_image is missing"
  fi
}

image_make() {
  on_node scripts/base-image "$base_image" </dev/null && has_image=yes && return
  report "$base_image could not be built; until then workspaces must name an image"
  return 1
}
