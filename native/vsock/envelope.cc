#include "envelope.h"

#include <algorithm>

#include "msgpack.h"

namespace workspace::vsock {

namespace {

constexpr std::size_t maxNamespace = 128;
constexpr std::size_t maxTimestamp = 40;

bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool isHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/** A UUID of version 7. Source: RFC 9562, section 5.7. */
bool isId(std::string_view text) {
  constexpr std::string_view form = "xxxxxxxx-xxxx-7xxx-vxxx-xxxxxxxxxxxx";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); i++) {
    const char c = text[i];
    const bool fits = form[i] == 'x' ? isHex(c) : form[i] == 'v' ? c == '8' || c == '9' || c == 'a' || c == 'b' : c == form[i];
    if (!fits) return false;
  }
  return true;
}

bool isNamespace(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' || c == '-';
  };
  return !text.empty() && text.size() <= maxNamespace && std::all_of(text.begin(), text.end(), fits);
}

bool isType(std::string_view text) { return text == "request" || text == "response" || text == "event"; }

/** Each occurs once; unexpected fields are left to the other reader. */
enum Field : unsigned { ID = 1, NAMESPACE = 2, TYPE = 4, IN_REPLY_TO = 8, FINAL = 16, TIMESTAMP = 32, PAYLOAD = 64 };

Field fieldOf(std::string_view key) {
  if (key == "id") return ID;
  if (key == "namespace") return NAMESPACE;
  if (key == "type") return TYPE;
  if (key == "in_reply_to") return IN_REPLY_TO;
  if (key == "final") return FINAL;
  if (key == "timestamp") return TIMESTAMP;
  if (key == "payload") return PAYLOAD;
  return {};
}

bool readFields(MsgpackReader& reader, Envelope& envelope, std::string& payload) {
  std::size_t count = 0;
  if (!reader.readMapHead(count)) return false;
  unsigned seen = 0;
  for (std::size_t i = 0; i < count; i++) {
    std::string_view key;
    if (!reader.readText(key)) return false;
    const Field field = fieldOf(key);
    if (field == 0 || (seen & field) != 0) return false;
    seen |= field;
    bool isRead = false;
    if (field == PAYLOAD) isRead = reader.readJson(payload) && payload[0] == '{';
    else if (field == FINAL) isRead = reader.readBoolean(envelope.isFinal);
    else if (field == ID) isRead = reader.readText(envelope.id);
    else if (field == NAMESPACE) isRead = reader.readText(envelope.nameSpace);
    else if (field == TYPE) isRead = reader.readText(envelope.type);
    else if (field == IN_REPLY_TO) isRead = reader.readText(envelope.inReplyTo);
    else isRead = reader.readText(envelope.timestamp);
    if (!isRead) return false;
  }
  const bool isReply = (seen & IN_REPLY_TO) != 0;
  return reader.atEnd() && (seen & PAYLOAD) != 0 && isId(envelope.id) && isNamespace(envelope.nameSpace) && isType(envelope.type) &&
         (seen & TIMESTAMP) != 0 && envelope.timestamp.size() <= maxTimestamp && isAscii(envelope.timestamp) &&
         isReply == (envelope.type == "response") && (!isReply || isId(envelope.inReplyTo));
}

}  // namespace

bool readEnvelope(std::span<const std::uint8_t> frame, Envelope& envelope, Payload& payload) {
  MsgpackReader reader(frame);
  envelope = {};
  payload.json.clear();
  const bool isRead = readFields(reader, envelope, payload.json);
  payload.isAscii = reader.isAscii();
  return isRead;
}

}  // namespace workspace::vsock
