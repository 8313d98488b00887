#include "policy.h"

#include <charconv>

namespace workspace::net_filter {

namespace {

std::optional<unsigned int> parseNumber(std::string_view text, unsigned int most, int base = 10) {
  unsigned int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

/** Returns the text before the separator and moves past it; the whole text without one. */
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

std::optional<Egress> parseEgress(std::string_view text) {
  if (text == "open") return Egress::open;
  if (text == "internet") return Egress::internet;
  if (text == "none") return Egress::none;
  if (text == "listed") return Egress::listed;
  return std::nullopt;
}

}  // namespace

std::optional<Address> parseAddress(std::string_view text) {
  Address address = 0;
  for (int i = 0; i < 4; i++) {
    const bool isLast = i == 3;
    if (!isLast && text.find('.') == std::string_view::npos) return std::nullopt;
    const auto byte = parseNumber(isLast ? text : take(text, '.'), 255);
    if (!byte) return std::nullopt;
    address = address << 8 | *byte;
  }
  return address;
}

std::optional<Prefix> parsePrefix(std::string_view text) {
  const bool hasLength = text.find('/') != std::string_view::npos;
  const auto address = parseAddress(take(text, '/'));
  const auto length = hasLength ? parseNumber(text, 32) : 32;
  if (!address || !length) return std::nullopt;
  return Prefix{*address, static_cast<int>(*length)};
}

std::optional<std::array<std::uint8_t, 6>> parseMac(std::string_view text) {
  std::array<std::uint8_t, 6> mac{};
  if (text.size() != 17) return std::nullopt;
  for (auto& byte : mac) {
    const auto number = parseNumber(take(text, ':'), 255, 16);
    if (!number) return std::nullopt;
    byte = static_cast<std::uint8_t>(*number);
  }
  return mac;
}

bool applyRules(std::string_view text, Policy& policy) {
  Policy changed = policy;
  changed.egress = Egress::none;
  changed.allowed.clear();
  changed.hostPorts.clear();
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.empty()) continue;
    const std::string_view key = take(line, ' ');
    if (key == "egress") {
      const auto egress = parseEgress(line);
      if (!egress) return false;
      changed.egress = *egress;
    } else if (key == "allow") {
      const auto prefix = parsePrefix(line);
      if (!prefix) return false;
      changed.allowed.push_back(*prefix);
    } else if (key == "host-port") {
      const auto port = parseNumber(line, 65535);
      if (!port || *port == 0) return false;
      changed.hostPorts.push_back(static_cast<std::uint16_t>(*port));
    } else {
      return false;
    }
  }
  policy = changed;
  return true;
}

}  // namespace workspace::net_filter
