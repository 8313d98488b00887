#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::test {

using Bytes = std::vector<std::uint8_t>;

inline void u1(Bytes& to, unsigned value) { to.push_back(static_cast<std::uint8_t>(value)); }
inline void u2(Bytes& to, unsigned value) {
  u1(to, value >> 8);
  u1(to, value);
}
inline void u4(Bytes& to, unsigned value) {
  u2(to, value >> 16);
  u2(to, value);
}
inline void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

/**
 * Writes class files by hand: constants on request, without reusing equal ones; then members and attributes as bytes.
 */
class ClassBuilder {
 public:
  explicit ClassBuilder(unsigned major = 61) : major_(major) {
    self_ = classConstant("demo/Made");
    super_ = classConstant("java/lang/Object");
  }

  unsigned utf8(std::string_view text) {
    u1(pool_, 1);
    u2(pool_, static_cast<unsigned>(text.size()));
    pool_.insert(pool_.end(), text.begin(), text.end());
    return count_++;
  }
  unsigned classConstant(std::string_view name) { return one(7, utf8(name)); }
  unsigned string(std::string_view text) { return one(8, utf8(text)); }
  unsigned integer(unsigned bits) { return word(3, bits); }
  unsigned long64(unsigned high, unsigned low) {
    const unsigned index = word(5, high);
    u4(pool_, low);
    count_++;
    return index;
  }
  /** tag 9, 10 or 11. */
  unsigned member(unsigned tag, std::string_view owner, std::string_view name, std::string_view descriptor) {
    const unsigned ownerIndex = classConstant(owner);
    return two(tag, ownerIndex, nameAndType(name, descriptor));
  }
  unsigned nameAndType(std::string_view name, std::string_view descriptor) {
    const unsigned nameIndex = utf8(name);
    return two(12, nameIndex, utf8(descriptor));
  }
  unsigned methodHandle(unsigned kind, unsigned member) {
    u1(pool_, 15);
    u1(pool_, kind);
    u2(pool_, member);
    return count_++;
  }
  unsigned invokeDynamic(unsigned bootstrapMethod, std::string_view name, std::string_view descriptor) {
    return two(18, bootstrapMethod, nameAndType(name, descriptor));
  }
  unsigned dynamic(unsigned bootstrapMethod, std::string_view name, std::string_view descriptor) {
    return two(17, bootstrapMethod, nameAndType(name, descriptor));
  }
  /** An entry of any tag and body, which takes one index. */
  unsigned raw(unsigned tag, const Bytes& body) {
    u1(pool_, tag);
    append(pool_, body);
    return count_++;
  }

  Bytes attribute(std::string_view name, const Bytes& body) {
    Bytes bytes;
    u2(bytes, utf8(name));
    u4(bytes, static_cast<unsigned>(body.size()));
    append(bytes, body);
    return bytes;
  }
  Bytes code(const Bytes& instructions, const std::vector<Bytes>& attributes = {}, const Bytes& exceptionTable = {}) {
    Bytes body;
    u2(body, 8);
    u2(body, 300);
    u4(body, static_cast<unsigned>(instructions.size()));
    append(body, instructions);
    u2(body, static_cast<unsigned>(exceptionTable.size() / 8));
    append(body, exceptionTable);
    list(body, attributes);
    return attribute("Code", body);
  }

  void field(std::string_view name, std::string_view descriptor, const std::vector<Bytes>& attributes = {}) {
    member(fields_, fieldCount_, name, descriptor, attributes);
  }
  void method(std::string_view name, std::string_view descriptor, const std::vector<Bytes>& attributes = {}) {
    member(methods_, methodCount_, name, descriptor, attributes);
  }
  void add(Bytes attribute) { attributes_.push_back(std::move(attribute)); }

  Bytes bytes() const {
    Bytes file;
    u4(file, 0xCAFEBABE);
    u2(file, 0);
    u2(file, major_);
    u2(file, count_);
    append(file, pool_);
    u2(file, 0x21);
    u2(file, self_);
    u2(file, super_);
    u2(file, 0);
    u2(file, fieldCount_);
    append(file, fields_);
    u2(file, methodCount_);
    append(file, methods_);
    list(file, attributes_);
    return file;
  }

 private:
  unsigned one(unsigned tag, unsigned index) {
    u1(pool_, tag);
    u2(pool_, index);
    return count_++;
  }
  unsigned two(unsigned tag, unsigned first, unsigned second) {
    u1(pool_, tag);
    u2(pool_, first);
    u2(pool_, second);
    return count_++;
  }
  unsigned word(unsigned tag, unsigned bits) {
    u1(pool_, tag);
    u4(pool_, bits);
    return count_++;
  }
  static void list(Bytes& to, const std::vector<Bytes>& attributes) {
    u2(to, static_cast<unsigned>(attributes.size()));
    for (const Bytes& each : attributes) append(to, each);
  }
  void member(Bytes& to, unsigned& count, std::string_view name, std::string_view descriptor, const std::vector<Bytes>& attributes) {
    u2(to, 0x9);
    const unsigned nameIndex = utf8(name);
    u2(to, nameIndex);
    u2(to, utf8(descriptor));
    list(to, attributes);
    count++;
  }

  unsigned major_;
  unsigned count_ = 1;
  Bytes pool_;
  unsigned self_;
  unsigned super_;
  Bytes fields_;
  unsigned fieldCount_ = 0;
  Bytes methods_;
  unsigned methodCount_ = 0;
  std::vector<Bytes> attributes_;
};

}  // namespace workspace::test
