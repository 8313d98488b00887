#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "../classfile/class-reader.h"

using workspace::classfile::ClassReader;

/**
 * libFuzzer's entry: whatever the bytes are, reading them ends in facts or in one fault whose offset lies in the file, leaves no
 * row of a faulty class, and the facts can be packed.
 */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ClassReader reader;
  reader.clear();
  // Bytes of their own, so that the sanitizer sees the first read beyond them.
  const std::vector<std::uint8_t> bytes(data, data + size);
  reader.read(bytes, 0);
  const std::size_t rows = reader.facts().classes.name.size();
  if (rows + reader.faults().size() != 1) std::abort();
  if (!reader.faults().empty() && reader.faults()[0].offset > size) std::abort();
  if (rows == 0 && !reader.facts().calls.owner.empty()) std::abort();
  reader.facts().finish();
  std::vector<std::uint8_t> packed(reader.facts().packedBytes());
  reader.facts().pack(packed.data());
  return 0;
}
