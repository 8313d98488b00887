#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "../log/source.h"
#include "check.h"

using workspace::log::Excerpt;
using workspace::log::MAX_LINE_BYTES;
using workspace::log::Source;
using workspace::log::UnfinishedLine;

namespace {

std::atomic<std::uint64_t> sequence = 1;

Excerpt all(const Source& source) { return source.read(0, 1 << 30); }

}  // namespace

TEST("a source joins lines that arrive in pieces") {
  const std::string text = "one\ntwo two\n\nthree\n";
  for (std::size_t cut = 0; cut <= text.size(); cut++) {
    Source source({1000, 1 << 20});
    source.take(0, text.substr(0, cut), 1, sequence);
    source.take(0, text.substr(cut), 2, sequence);
    CHECK(all(source).bytes == text);
    CHECK(source.counts().end == 4);
  }
}

TEST("a source cuts an endless line into pieces within the limit, never inside a character") {
  std::string text(MAX_LINE_BYTES - 1, 'x');
  for (int i = 0; i < 20000; i++) text += "\xe2\x82\xac";
  for (const std::size_t step : {std::size_t{1000}, std::size_t{65536}, text.size()}) {
    Source source({100000, 1 << 24});
    for (std::size_t at = 0; at < text.size(); at += step) source.take(1, std::string_view(text).substr(at, step), 1, sequence);
    source.finish(1, 1, sequence);
    const Excerpt excerpt = all(source);
    CHECK(excerpt.bytes == text + "\n");
    std::size_t at = 0;
    for (const auto& part : excerpt.parts) {
      CHECK(part.size <= MAX_LINE_BYTES + 1);
      CHECK((static_cast<unsigned char>(excerpt.bytes[at]) & 0xc0) != 0x80);
      at += part.size;
    }
    CHECK(excerpt.parts.size() == source.counts().end);
  }
}

TEST("a source cuts long lines among short ones that arrive together") {
  const std::string longLine(3 * MAX_LINE_BYTES + 7, 'y');
  const std::string text = "a\nb\n" + longLine + "\nc\n";
  Source source({100000, 1 << 24});
  source.take(0, text, 1, sequence);
  CHECK(all(source).bytes == text);
  CHECK(source.counts().end == 3 + 4);
}

TEST("a source keeps the lines of two writers apart") {
  Source source({100, 1 << 20});
  UnfinishedLine first;
  UnfinishedLine second;
  source.take(0, first, "one ", 1, sequence);
  source.take(0, second, "three ", 1, sequence);
  source.take(0, first, "two\n", 1, sequence);
  source.finish(0, second, 1, sequence);
  CHECK(all(source).bytes == "one two\nthree \n");
}

TEST("a source keeps the last state of a line that carriage returns rewrite, for any chunks") {
  const std::string text = "a\r\n\r 5%\r\xe2\x82\xac\r\r\nplain\n\r\n1/2\x1b[2K\r2/2\nrest\r";
  for (std::size_t first = 0; first <= text.size(); first++) {
    for (std::size_t second = first; second <= text.size(); second++) {
      Source source({1000, 1 << 20});
      source.take(0, text.substr(0, first), 1, sequence);
      source.take(0, text.substr(first, second - first), 1, sequence);
      source.take(0, text.substr(second), 1, sequence);
      source.finish(0, 1, sequence);
      CHECK(all(source).bytes == "a\n\xe2\x82\xac\nplain\n\n2/2\nrest\n");
      CHECK(source.counts().end == 6);
    }
  }
}

TEST("a source shows each state once, without half characters and control sequences") {
  Source source({1000, 1 << 20});
  const auto shows = [&source](std::string_view bytes, std::string_view lines) {
    source.take(0, bytes, 1, sequence);
    source.showStates(1, sequence);
    return all(source).bytes == lines;
  };
  CHECK(shows("prompt", ""));
  CHECK(shows("\r1 \xe2\x82", "1 \n"));
  CHECK(shows("\xac", "1 \n1 \xe2\x82\xac\n"));
  std::string lines = all(source).bytes;
  for (const std::string_view begun : {"\x1b", "\x1b[", "\x1b[3", "\x1b]0;title", "\x1b]0;title\x1b", "\x1b(", "\xf0\x9f\x98"}) {
    CHECK(shows("\r" + std::string(begun), lines));
    lines += "2\n";
    CHECK(shows("\r2" + std::string(begun), lines));
    CHECK(shows("\r2\r", lines));
    lines += "3\n";
    CHECK(shows("\r3", lines));
  }
  CHECK(shows(" \x1b[0m\r \x1b[K\r", lines));
  CHECK(shows("\r3\n", lines));
  CHECK(shows("3\n", lines + "3\n"));
}

TEST("a source stays within its limits") {
  Source source({10, 1 << 20});
  for (int i = 0; i < 100; i++) source.take(0, "line " + std::to_string(i) + "\n", 1, sequence);
  CHECK(source.counts().first == 90);
  CHECK(source.read(0, 1 << 20).parts.front().index >= 90);
  Source small({1000000, 5000});
  for (int i = 0; i < 100; i++) small.take(0, std::string(999, 'z') + "\n", 1, sequence);
  CHECK(small.counts().heldBytes <= 5000);
  CHECK(small.read(0, 1).parts.size() == 1);
}
