#include "source.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace workspace::log {

namespace {

/** Vectorized by the compiler. */
std::uint32_t countLines(std::string_view bytes) {
  std::uint32_t count = 0;
  for (const char byte : bytes) count += byte == '\n' ? 1 : 0;
  return count;
}

/** Returns how much of an overlong text to take at once, without splitting a UTF-8 character. */
std::size_t cutAt(std::string_view text) {
  std::size_t at = MAX_LINE_BYTES;
  while (at > MAX_LINE_BYTES - 4 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) at--;
  // Not UTF-8: any position will do.
  return at == MAX_LINE_BYTES - 4 ? MAX_LINE_BYTES : at;
}

/** Whether a line may be too long. A line over 16 KiB contains at least one complete block of 8 KiB. */
bool mayHaveLongLine(std::string_view lines) {
  constexpr std::size_t BLOCK = MAX_LINE_BYTES / 2;
  for (std::size_t at = 0; at + BLOCK <= lines.size(); at += BLOCK) {
    if (std::memchr(lines.data() + at, '\n', BLOCK) == nullptr) return true;
  }
  return false;
}

/** Returns the size of the first line if it is a state that was already taken, or 0. */
std::size_t shownSize(std::string_view shown, std::string_view lines) {
  return !shown.empty() && lines.substr(0, lines.find('\n')) == shown ? shown.size() + 1 : 0;
}

}  // namespace

bool Source::take(int stream, UnfinishedLine& begun, std::string_view bytes, std::int64_t timeMs,
                  std::atomic<std::uint64_t>& shared) {
  const std::lock_guard lock(mutex);
  now = timeMs;
  sequence = &shared;
  if (begun.isRewritten || bytes.find('\r') != std::string_view::npos) takeStates(stream, begun, bytes);
  else takePlain(stream, begun.text, bytes);
  cutBegun(stream, begun.text);
  evict();
  return begun.isRewritten;
}

void Source::takePlain(int stream, std::string& begun, std::string_view bytes) {
  const std::size_t lastEnd = bytes.rfind('\n');
  if (lastEnd != std::string_view::npos) {
    const std::string_view whole = bytes.substr(0, lastEnd + 1);
    bytes.remove_prefix(lastEnd + 1);
    if (begun.size() + whole.find('\n') > MAX_LINE_BYTES || mayHaveLongLine(whole)) {
      begun.append(whole);
      takeLines(stream, begun);
    } else {
      keep(stream, begun, whole, countLines(whole), false);
    }
    begun.clear();
  }
  begun.append(bytes);
}

/** Takes bytes of which some follow a carriage return in their line. */
void Source::takeStates(int stream, UnfinishedLine& begun, std::string_view bytes) {
  begun.text.append(bytes);
  const std::size_t wholeSize = begun.text.rfind('\n') + 1;
  if (wholeSize > 0) {
    const std::string states = lastStates(std::string_view(begun.text).substr(0, wholeSize));
    takeLines(stream, std::string_view(states).substr(shownSize(begun.shown, states)));
    begun.text.erase(0, wholeSize);
    begun.shown.clear();
    begun.isRewritten = false;
  }
  begun.isRewritten = begun.isRewritten || begun.text.find('\r') != std::string::npos;
  if (!begun.isRewritten) return;
  const bool hasEnded = begun.text.ends_with('\r');
  begun.text = std::string(lastState(begun.text)).append(hasEnded ? "\r" : "");
}

void Source::showState(int stream, UnfinishedLine& begun, std::int64_t timeMs, std::atomic<std::uint64_t>& shared) {
  const std::lock_guard lock(mutex);
  if (!begun.isRewritten) return;
  now = timeMs;
  sequence = &shared;
  const std::string_view state = shownState(lastState(begun.text));
  if (state.empty() || state == begun.shown) return;
  keep(stream, state, "\n", 1, false);
  begun.shown = state;
  evict();
}

void Source::finish(int stream, UnfinishedLine& begun, std::int64_t timeMs, std::atomic<std::uint64_t>& shared) {
  const std::lock_guard lock(mutex);
  now = timeMs;
  sequence = &shared;
  const std::string_view last = lastState(begun.text);
  if (!last.empty() && last != begun.shown) keep(stream, last, "\n", 1, false);
  begun = {};
  evict();
}

/** Takes lines of which some may be too long. */
void Source::takeLines(int stream, std::string_view lines) {
  std::size_t begin = 0;
  std::size_t at = 0;
  std::uint32_t count = 0;
  const auto keepShort = [&] {
    if (count > 0) keep(stream, lines.substr(begin, at - begin), "", count, false);
    count = 0;
  };
  while (at < lines.size()) {
    std::size_t end = lines.find('\n', at);
    if (end - at > MAX_LINE_BYTES) {
      keepShort();
      while (end - at > MAX_LINE_BYTES) {
        const std::size_t size = cutAt(lines.substr(at));
        keep(stream, lines.substr(at, size), "", 1, true);
        at += size;
      }
      begin = at;
    }
    at = end + 1;
    count++;
  }
  keepShort();
}

void Source::cutBegun(int stream, std::string& begun) {
  std::size_t at = 0;
  while (begun.size() - at > MAX_LINE_BYTES) {
    const std::string_view rest = std::string_view(begun).substr(at);
    const std::size_t size = cutAt(rest);
    keep(stream, rest.substr(0, size), "", 1, true);
    at += size;
  }
  begun.erase(0, at);
}

void Source::keep(int stream, std::string_view first, std::string_view rest, std::uint32_t lines, bool isCut) {
  const std::size_t size = first.size() + rest.size();
  Block block = {
      .sequence = sequence->fetch_add(lines, std::memory_order_relaxed),
      .index = nextIndex,
      .timeMs = now,
      .lines = lines,
      .size = static_cast<std::uint32_t>(size),
      .stream = static_cast<std::uint8_t>(stream),
      .isCut = isCut,
      .bytes = std::make_unique_for_overwrite<char[]>(size),
  };
  std::copy(first.begin(), first.end(), block.bytes.get());
  std::copy(rest.begin(), rest.end(), block.bytes.get() + first.size());
  if (file != nullptr) file->write(std::string_view(block.bytes.get(), size), now);
  nextIndex += lines;
  heldBytes += size + sizeof(Block);
  blocks.push_back(std::move(block));
}

void Source::evict() {
  const auto isOver = [this] {
    return heldBytes > bounds.bytes || nextIndex - blocks.front().index - blocks.front().lines >= bounds.lines;
  };
  while (blocks.size() > 1 && isOver()) {
    heldBytes -= blocks.front().size + sizeof(Block);
    blocks.pop_front();
  }
}

void Source::writeTo(std::unique_ptr<FileSink> sink) {
  const std::lock_guard lock(mutex);
  file = std::move(sink);
}

void Source::setBounds(Bounds changed) {
  const std::lock_guard lock(mutex);
  bounds = changed;
  if (!blocks.empty()) evict();
}

std::uint64_t Source::firstIndex() const {
  if (blocks.empty()) return nextIndex;
  const std::uint64_t oldest = nextIndex > bounds.lines ? nextIndex - bounds.lines : 0;
  return std::max(oldest, blocks.front().index);
}

Counts Source::counts() const {
  const std::lock_guard lock(mutex);
  return {firstIndex(), nextIndex, heldBytes, file == nullptr ? 0 : file->lostBytes(), openStreams};
}

Excerpt Source::read(std::uint64_t fromIndex, std::size_t maxBytes) const {
  const std::lock_guard lock(mutex);
  const std::uint64_t from = std::max(fromIndex, firstIndex());
  Excerpt excerpt;
  auto block = std::partition_point(blocks.begin(), blocks.end(),
                                    [from](const Block& each) { return each.index + each.lines <= from; });
  for (; block != blocks.end(); ++block) {
    if (!excerpt.parts.empty() && excerpt.bytes.size() + block->size > maxBytes) break;
    excerpt.parts.push_back(
        {block->sequence, block->index, block->timeMs, block->lines, block->size, block->stream, block->isCut});
    excerpt.bytes.append(block->bytes.get(), block->size);
  }
  return excerpt;
}

}  // namespace workspace::log
