#include "inflate.h"

#ifdef WORKSPACE_LIBDEFLATE
#include <libdeflate.h>

#include <memory>
#include <new>
#else
#include <zlib.h>

#include <limits>
#endif

namespace workspace::archive {

#ifdef WORKSPACE_LIBDEFLATE

bool inflateExactly(std::span<const std::uint8_t> deflated, std::span<std::uint8_t> out) {
  struct Free {
    void operator()(libdeflate_decompressor* each) const { libdeflate_free_decompressor(each); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  if (decompressor == nullptr) throw std::bad_alloc();
  return libdeflate_deflate_decompress(decompressor.get(), deflated.data(), deflated.size(), out.data(), out.size(), nullptr) ==
         LIBDEFLATE_SUCCESS;
}

std::uint32_t crc32Of(std::span<const std::uint8_t> bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

#else

bool inflateExactly(std::span<const std::uint8_t> deflated, std::span<std::uint8_t> out) {
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  if (deflated.size() > most || out.size() > most) return false;
  z_stream stream{};
  // Negative: raw deflate, without zlib's header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  std::uint8_t nothing = 0;
  stream.next_in = const_cast<Bytef*>(deflated.data());
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = out.empty() ? &nothing : out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole;
}

std::uint32_t crc32Of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

#endif

}  // namespace workspace::archive
