#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "../archive/extent.h"

using namespace workspace::archive;

/**
 * libFuzzer's entry. The first bytes describe an extent of the rest; reading it must return its bytes or a message.
 */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 8) return 0;
  const auto u2 = [data](std::size_t at) { return static_cast<std::uint64_t>(data[at] << 8 | data[at + 1]); };
  const Extent extent{u2(0), u2(2), u2(4), static_cast<std::uint16_t>(data[6]), (data[7] & 1) != 0, (data[7] & 2) != 0, 0};
  ExtentReader reader(Source(std::span(data + 8, size - 8)), 1 << 14);
  std::span<const std::uint8_t> bytes;
  const char* fault = reader.read(extent, bytes);
  if (fault == nullptr && bytes.size() != extent.bytes) std::abort();
  return 0;
}
