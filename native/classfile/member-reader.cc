#include "class-reader.h"

#include "access-flags.h"

namespace workspace::classfile {

namespace {

// JVMS table 4.5-A and 4.6-A.
constexpr std::uint16_t accStatic = 0x0008;

}  // namespace

void ClassReader::readMembers(Cursor& file, bool areMethods) {
  for (std::uint16_t left = file.u2(); left > 0; left--) {
    if (areMethods) {
      readMethod(file);
    } else {
      readField(file);
    }
  }
}

void ClassReader::readField(Cursor& file) {
  auto& fields = slice_.facts.fields;
  const auto row = static_cast<std::int32_t>(fields.name.size());
  const std::size_t at = file.offset();
  fields.accessFlags.push_back(file.u2());
  fields.name.push_back(slice_.pool.utf8(file.u2()));
  fields.descriptor.push_back(slice_.pool.utf8(file.u2()));
  slice_.addReferences(slice_.require(fields.descriptor.back(), false, at));
  fields.signature.push_back(-1);
  for (U8* column : {&fields.traits, &fields.constantKind}) column->push_back(0);
  fields.constant.push_back(0);
  fields.constantHigh.push_back(0);
  for (std::uint16_t left = file.u2(); left > 0; left--) {
    const AttributeKind kind = attributeKind(file.u2());
    const Cursor body = file.window(file.u4());
    if (readAnnotationAttribute(kind, body, {TargetKind::field, row})) continue;
    if (kind == AttributeKind::signature) fields.signature.back() = readSignature(body);
    if (kind == AttributeKind::constantValue) readConstantValue(body);
    if (kind == AttributeKind::deprecated) fields.traits.back() |= trait::deprecated;
    if (kind == AttributeKind::synthetic) fields.accessFlags.back() |= accSynthetic;
  }
}

void ClassReader::readConstantValue(Cursor body) {
  auto& fields = slice_.facts.fields;
  ConstantPool& pool = slice_.pool;
  const std::uint16_t index = body.u2();
  const auto set = [&fields](ValueKind kind, std::int32_t low, std::int32_t high) {
    fields.constantKind.back() = static_cast<std::uint8_t>(kind);
    fields.constant.back() = low;
    fields.constantHigh.back() = high;
  };
  switch (pool.tag(index)) {
    case Tag::integer:
      return set(ValueKind::int_, pool.firstWord(index), 0);
    case Tag::float_:
      return set(ValueKind::float_, pool.firstWord(index), 0);
    case Tag::long_:
      return set(ValueKind::long_, pool.secondWord(index), pool.firstWord(index));
    case Tag::double_:
      return set(ValueKind::double_, pool.secondWord(index), pool.firstWord(index));
    case Tag::string:
      return set(ValueKind::string, pool.string(index), 0);
    default:
      pool.fail(index, "constant that a field can have");
  }
}

void ClassReader::readMethod(Cursor& file) {
  Facts& facts = slice_.facts;
  auto& methods = facts.methods;
  const auto row = static_cast<std::int32_t>(methods.name.size());
  const std::size_t at = file.offset();
  const std::uint16_t flags = file.u2();
  methods.accessFlags.push_back(flags);
  methods.name.push_back(slice_.pool.utf8(file.u2()));
  methods.descriptor.push_back(slice_.pool.utf8(file.u2()));
  const Descriptor descriptor = slice_.require(methods.descriptor.back(), true, at);
  slice_.addReferences(descriptor);
  methods.traits.push_back(0);
  for (I32* column : {&methods.signature, &methods.firstLine, &methods.lastLine}) column->push_back(-1);
  const auto start = [](I32& first, const I32& column) { first.push_back(static_cast<std::int32_t>(column.size())); };
  start(methods.firstException, facts.exceptions.name);
  start(methods.firstParameter, facts.parameters.name);
  start(methods.firstCall, facts.calls.owner);
  start(methods.firstFieldAccess, facts.fieldAccesses.owner);
  start(methods.firstTypeReference, facts.typeReferences.name);
  start(methods.firstDynamicCall, facts.dynamicCalls.name);

  const bool isStatic = (flags & accStatic) != 0;
  bool hasParameters = false;
  const MethodDebug* debug = nullptr;
  for (std::uint16_t left = file.u2(); left > 0; left--) {
    const std::size_t attributeAt = file.offset();
    const AttributeKind kind = attributeKind(file.u2());
    const Cursor body = file.window(file.u4());
    if (readAnnotationAttribute(kind, body, {TargetKind::method, row})) continue;
    switch (kind) {
      case AttributeKind::code:
        // JVMS §4.7.3: exactly one; rows of a second would count as those of the first.
        if ((methods.traits.back() & trait::hasCode) != 0) throw ClassFormatError(attributeAt, "a method has two Code attributes");
        methods.traits.back() |= trait::hasCode;
        debug = &code_.read(body, bootstraps_, descriptor.parameterSlots + (isStatic ? 0U : 1U));
        methods.firstLine.back() = debug->firstLine;
        methods.lastLine.back() = debug->lastLine;
        break;
      case AttributeKind::exceptions:
        readClassNames(body, facts.exceptions.name);
        break;
      case AttributeKind::methodParameters:
        hasParameters = readMethodParameters(body);
        break;
      case AttributeKind::signature:
        methods.signature.back() = readSignature(body);
        break;
      case AttributeKind::runtimeVisibleParameterAnnotations:
      case AttributeKind::runtimeInvisibleParameterAnnotations:
        readParameterAnnotations(slice_, body, row, kind == AttributeKind::runtimeVisibleParameterAnnotations);
        break;
      case AttributeKind::annotationDefault:
        readAnnotationDefault(slice_, body, row);
        break;
      case AttributeKind::deprecated:
        methods.traits.back() |= trait::deprecated;
        break;
      case AttributeKind::synthetic:
        methods.accessFlags.back() |= accSynthetic;
        break;
      default:
        break;
    }
  }
  if (!hasParameters && debug != nullptr && debug->hasLocalNames) addLocalNames(*debug, descriptor, isStatic);
}

bool ClassReader::readMethodParameters(Cursor body) {
  auto& parameters = slice_.facts.parameters;
  const std::size_t first = parameters.name.size();
  Cursor names = body;
  body.skip(std::size_t{4} * body.u1());
  body.requireEnd();
  try {
    for (std::uint8_t left = names.u1(); left > 0; left--) {
      parameters.name.push_back(slice_.pool.utf8OrNone(names.u2()));
      parameters.accessFlags.push_back(names.u2());
    }
    return true;
  } catch (const ClassFormatError& error) {
    // A JVM looks up the names when they are asked for.
    parameters.name.resize(first);
    parameters.accessFlags.resize(first);
    slice_.leftOut.add(error);
    return false;
  }
}

void ClassReader::addLocalNames(const MethodDebug& debug, const Descriptor& descriptor, bool isStatic) {
  slice_.facts.methods.traits.back() |= trait::debugNames;
  std::size_t slot = isStatic ? 0 : 1;
  for (const std::uint8_t slots : slice_.descriptors.parameters(descriptor)) {
    slice_.facts.parameters.name.push_back(slot < debug.localNames.size() ? debug.localNames[slot] : -1);
    slice_.facts.parameters.accessFlags.push_back(0);
    slot += slots;
  }
}

}  // namespace workspace::classfile
