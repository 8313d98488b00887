// Replaces libFuzzer where there is no clang: mutates a few envelopes RUNS times, always in the same way. Arguments:
// RUNS. Ends like a fuzz target: by a signal, with a sanitizer's report, or with status 0.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../test/envelope-bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes framed(const std::string& body) {
  Bytes frame = {0, 0, static_cast<std::uint8_t>(body.size() >> 8), static_cast<std::uint8_t>(body.size())};
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

void change(Bytes& bytes, std::mt19937& random) {
  const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
  switch (random() % 4) {
    case 0: bytes[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random()); break;
    case 1: bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << random() % 8); break;
    case 2: bytes.insert(bytes.begin() + at, static_cast<std::uint8_t>(random())); break;
    default: bytes.erase(bytes.begin() + at); break;
  }
  // A correct length lets the rest be read; a quarter of the lengths stay wrong.
  if (bytes.size() < 5 || random() % 4 == 0) return;
  const std::size_t length = bytes.size() - 4;
  bytes[0] = bytes[1] = 0;
  bytes[2] = static_cast<std::uint8_t>(length >> 8);
  bytes[3] = static_cast<std::uint8_t>(length);
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 100000;
  const std::vector<Bytes> seeds = {framed(workspace::test::envelopeBytes(workspace::test::somePayload())),
                                    framed(workspace::test::envelopeBytes("\x80", "response")),
                                    framed(workspace::test::envelopeBytes(workspace::test::somePayload(), "event"))};
  std::mt19937 random(20261121);
  for (int run = 0; run < runs; run++) {
    Bytes bytes = seeds[random() % seeds.size()];
    for (std::uint32_t changes = random() % 4 + 1; changes > 0 && !bytes.empty(); changes--) change(bytes, random);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%d inputs\n", runs);
  return 0;
}
