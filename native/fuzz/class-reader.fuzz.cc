#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../classfile/class-reader.h"
#include "../digest/digest.h"

using workspace::classfile::ClassReader;

namespace {

template <typename Tables>
void pack(Tables& tables) {
  std::vector<std::uint8_t> packed(workspace::classfile::packedBytes(tables));
  workspace::classfile::pack(tables, packed.data());
}

}  // namespace

/**
 * libFuzzer's entry. Reading any bytes must produce facts, one diagnostic with an offset in the file, or both if an
 * attribute is left out; an invalid class leaves no row, and the facts and their digest can be packed.
 */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ClassReader reader;
  reader.clear();
  // A separate copy, so that the sanitizer detects the first read beyond its end.
  const std::vector<std::uint8_t> bytes(data, data + size);
  reader.read(bytes, 0);
  const std::size_t rows = reader.facts().classes.name.size();
  const std::size_t diagnostics = reader.diagnostics().size();
  if (rows > 1 || diagnostics > 1 || rows + diagnostics == 0) std::abort();
  if (diagnostics > 0 && reader.diagnostics()[0].offset > size) std::abort();
  if (rows == 0 && !reader.facts().calls.owner.empty()) std::abort();
  reader.facts().finish();
  pack(reader.facts());
  auto digest = workspace::digest::buildDigest(reader.facts());
  if (digest.classes.name.size() != rows) std::abort();
  pack(digest);
  return 0;
}
